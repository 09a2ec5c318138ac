"""The stage-wise check names the first stage that leaves tolerance, node by node."""

import profiled_graphs as graphs
import pytest

from profiler.analysis.stagewise import check_stages

pytestmark = pytest.mark.usefixtures("measured_in_forks")


def test_a_right_graph_leaves_tolerance_nowhere():
    arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    found = check_stages(graphs.two_kernels(), arrays, 1e-4)
    assert found.first is None and found.document()["first"] is None
    stages = {stage for node in found.nodes for stage in node.errors}
    assert stages == {"unfused -O0", "fused -O0", "fused -O3"}
    assert {"softmax_0", "matmul_0", "relu_0"} <= {node.node for node in found.nodes}


def test_a_wrong_kernel_is_found_unfused_at_its_own_node(tmp_path):
    (tmp_path / "k.py").write_text(graphs.KERNELS)
    graph = graphs.custom("wrong", reference=lambda x: x + x)
    found = check_stages(graph, [graphs.array(64, 64)], 1e-4, libraries=[tmp_path])
    assert found.first == ("unfused -O0", "custom_0")
    assert [node.node for node in found.nodes if node.first] == ["custom_0"]
    assert "custom_0" in found.document()["first"]["words"]


@pytest.mark.slow
def test_a_crash_at_a_stage_is_a_finding(tmp_path):
    (tmp_path / "k.py").write_text(graphs.KERNELS)
    found = check_stages(
        graphs.custom("crash", reference=lambda x: x), [graphs.array(64, 64)], 1e-4, libraries=[tmp_path]
    )
    assert found.first is not None and found.first[0] == "unfused -O0"
    assert "crashed with SIG" in found.document()["first"]["words"]
