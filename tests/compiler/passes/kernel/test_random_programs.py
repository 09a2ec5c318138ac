"""Random programs with loops, branches and stack arrays mean the same after the kernel passes, alone and together."""

import operator
import random

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from compiler.dialects.operations import count_operations
from compiler.passes.kernel.census import take_census
from compiler.passes.kernel.run import SHRINKING

ARITH = {arith.AddiOp: operator.add, arith.SubiOp: operator.sub, arith.MuliOp: operator.mul}
COMPARE = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
ARRAYS = {"%a": 1, "%b": 3}


class Unwritten(Exception):
    """A program read what nobody wrote: it means nothing."""


class Writer:
    """Writes one program; every index value that is in sight may be used."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.number = 0
        self.left = 45

    def program(self):
        self.lines.append('func.func @k(%n: index, %m: memref<?xindex>) attributes {"kg.kernel"} {')
        for value in range(4):
            self.lines.append(f"%c{value} = arith.constant {value} : index")
        for name, size in ARRAYS.items():
            self.lines.append(f"{name} = memref.alloca() : memref<{size}xindex>")
        seen = ["%n", "%c0", "%c1", "%c2", "%c3"]
        if self.random.random() < 0.8:
            for name, size in ARRAYS.items():
                for at in range(size):
                    self.lines.append(f"memref.store {self.random.choice(seen)}, {name}[%c{at}] : memref<{size}xindex>")
        self.block(seen, 0)
        self.lines.append("func.return\n}")
        return "\n".join(self.lines)

    def fresh(self):
        self.number += 1
        return f"%v{self.number}"

    def block(self, seen, depth):
        for _ in range(self.random.randint(2, 6)):
            self.left -= 1
            if self.left < 0:
                return
            self.statement(seen, depth)

    def statement(self, seen, depth):
        pick = self.random.random()
        if pick < 0.22 or (depth >= 3 and pick > 0.8):
            name = self.fresh()
            kind = self.random.choice(["addi", "subi", "muli"])
            self.lines.append(f"{name} = arith.{kind} {self.random.choice(seen)}, {self.random.choice(seen)} : index")
            seen.append(name)
        elif pick < 0.45:
            array, size = self.random.choice(list(ARRAYS.items()))
            at, name = self.random.randrange(size), self.fresh()
            self.lines.append(f"{name} = memref.load {array}[%c{at}] : memref<{size}xindex>")
            seen.append(name)
        elif pick < 0.68:
            array, size = self.random.choice(list(ARRAYS.items()))
            at = self.random.randrange(size)
            self.lines.append(f"memref.store {self.random.choice(seen)}, {array}[%c{at}] : memref<{size}xindex>")
        elif pick < 0.8:
            self.lines.append(
                f"memref.store {self.random.choice(seen)}, %m[%c{self.random.randrange(4)}] : memref<?xindex>"
            )
        elif pick < 0.9:
            self.loop(seen, depth)
        else:
            self.branch(seen, depth)

    def loop(self, seen, depth):
        at, carried, result = self.fresh(), self.fresh(), self.fresh()
        upper = self.random.choice(["%c0", "%c1", "%c2", "%c3", "%n"])
        start = self.random.choice(seen)
        self.lines.append(
            f"{result} = scf.for {at} = %c0 to {upper} step %c1 iter_args({carried} = {start}) -> (index) {{"
        )
        inner = [*seen, at, carried]
        self.block(inner, depth + 1)
        self.lines.append(f"scf.yield {self.random.choice(inner)} : index\n}}")
        seen.append(result)

    def branch(self, seen, depth):
        asked = self.fresh()
        kind = self.random.choice(["slt", "eq", "sge"])
        self.lines.append(
            f"{asked} = arith.cmpi {kind}, {self.random.choice(seen)}, {self.random.choice(seen)} : index"
        )
        self.lines.append(f"scf.if {asked} {{")
        self.block([*seen], depth + 1)
        self.lines.append("}")
        if self.random.random() < 0.5:
            self.lines[-1] = "} else {"
            self.block([*seen], depth + 1)
            self.lines.append("}")


def execute(module, size):
    """What a program leaves in its memory."""
    function = next(iter(module.body.block.ops))
    memory = [7, 11, 13, 17]
    values = dict(zip(function.body.block.args, (size, memory), strict=True))
    _run(function.body.block, values)
    return memory


def _run(block, values):
    """Run a block; what its terminator hands over."""
    for op in block.ops:
        operands = [values[value] for value in op.operands]
        if type(op) is arith.ConstantOp:
            values[op.results[0]] = op.properties["value"].value.data
        elif type(op) in ARITH:
            values[op.results[0]] = (ARITH[type(op)](*operands) + 2**63) % 2**64 - 2**63
        elif type(op) is arith.CmpiOp:
            values[op.results[0]] = COMPARE[op.properties["predicate"].value.data](*operands)
        elif type(op) is memref.AllocaOp:
            values[op.results[0]] = [None] * op.results[0].type.get_shape()[0]
        elif type(op) is memref.LoadOp:
            if operands[0][operands[1]] is None:
                raise Unwritten
            values[op.results[0]] = operands[0][operands[1]]
        elif type(op) is memref.StoreOp:
            operands[1][operands[2]] = operands[0]
        elif type(op) is scf.IfOp:
            taken = op.regions[0 if operands[0] else 1]
            handed = _run(taken.blocks[0], values) if taken.blocks else []
            values.update(zip(op.results, handed, strict=True))
        elif type(op) is scf.ForOp:
            carried = operands[3:]
            body = op.regions[0].blocks[0]
            for at in range(*operands[:3]):
                values.update(zip(body.args, (at, *carried), strict=True))
                carried = _run(body, values)
            values.update(zip(op.results, carried, strict=True))
        else:
            return operands
    return []


def parse(text):
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, memref.MemRef, scf.Scf):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def check(seeds):
    promoted = meaningful = 0
    for seed in seeds:
        text = Writer(seed).program()
        module = parse(text)
        module.verify()
        try:
            expected = [execute(module, size) for size in (0, 1, 5)]
        except Unwritten:
            expected = None
        names = [name for name, _ in SHRINKING]
        if seed % 2:  # also in another order than the compiler's
            random.Random(seed).shuffle(names)
        census, operations = take_census(module), count_operations(module)
        for name in names:
            before, edits = str(module), census.edits
            operations -= dict(SHRINKING)[name](census)
            module.verify()
            assert operations == count_operations(module), f"seed {seed}: {name} miscounts"
            assert (str(module) != before) == (census.edits != edits), f"seed {seed}: {name} hides a change"
            if expected is not None:
                assert [execute(module, size) for size in (0, 1, 5)] == expected, f"seed {seed}: {name}\n{text}"
        promoted += str(module).count("alloca") < text.count("alloca")
        meaningful += expected is not None
    assert promoted > len(seeds) / 4 and meaningful > len(seeds) / 2


def test_kernel_passes_keep_the_meaning_of_random_programs():
    check(range(40))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_kernel_passes_keep_the_meaning_of_many_random_programs(part):
    check(range(1000 + 100 * part, 1100 + 100 * part))
