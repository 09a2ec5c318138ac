"use strict";
(() => {
  const data = JSON.parse(document.getElementById("ir").textContent);
  const panes = document.getElementById("panes");
  const said = document.getElementById("chosen");
  if (!data.texts.length || !panes) return;
  const number = new Map(data.nodes.map((name, index) => [name, index]));
  let chosen = new Set();
  const views = [];

  const option = (select, value, words) => {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = words;
    select.append(made);
  };

  function pane(first) {
    const box = document.createElement("section"), head = document.createElement("header"), code = document.createElement("div");
    const select = document.createElement("select");
    select.setAttribute("aria-label", "stage");
    box.className = "pane";
    code.className = "code";
    code.tabIndex = 0;
    data.texts.forEach((text, index) => option(select, index, text.kernel ? `${text.stage} · ${text.kernel}` : text.stage));
    select.value = first;
    head.append(select);
    box.append(head, code);
    panes.append(box);
    const view = { code, lines: [] };
    const show = () => {
      const text = data.texts[select.value];
      code.textContent = "";
      view.lines = text.text.split("\n").map((line, at) => {
        const row = document.createElement("div"), place = document.createElement("span"), body = document.createElement("span");
        const nodes = data.sets[text.lines[at]] || [];
        row.className = nodes.length ? "line linked" : "line";
        place.className = "at";
        place.textContent = at + 1;
        body.textContent = line;  // textContent: whatever the text holds, it is shown, never run
        row.append(place, body);
        if (nodes.length) {
          row.title = nodes.map((n) => data.nodes[n]).join(" ");
          row.addEventListener("click", () => choose(nodes));
        }
        code.append(row);
        return [row, nodes];
      });
      mark(false);
    };
    select.addEventListener("change", show);
    views.push(Object.assign(view, { show, select }));
  }

  function choose(nodes) {
    const same = nodes.length === chosen.size && nodes.every((n) => chosen.has(n));
    chosen = new Set(same ? [] : nodes);
    mark(true);
  }

  function mark(scroll) {
    const names = [...chosen].map((n) => data.nodes[n]);
    said.textContent = names.length ? `nodes: ${names.join(" ")}` : "Click a line, a bar or a row: what comes from the same graph nodes is marked everywhere.";
    for (const view of views) {
      let first = null;
      for (const [row, nodes] of view.lines) {
        const hit = nodes.some((n) => chosen.has(n));
        row.classList.toggle("hit", hit);
        if (hit && !first) first = row;
      }
      if (scroll && first) view.code.scrollTop = first.offsetTop - view.code.offsetTop - 60;
    }
    for (const item of document.querySelectorAll("[data-nodes]"))
      item.classList.toggle("hit", item.dataset.nodes.split(" ").some((name) => chosen.has(number.get(name))));
  }

  for (const item of document.querySelectorAll("[data-nodes]"))
    item.addEventListener("click", () => choose(item.dataset.nodes.split(" ").map((name) => number.get(name)).filter((n) => n !== undefined)));
  const at = (stage) => Math.max(data.texts.findIndex((text) => text.stage === stage), 0);
  const have = new Set(data.texts.map((text) => text.stage));
  for (const stage of ["mo", "source", "llvm-opt", "asm"].filter((stage) => have.has(stage))) pane(at(stage));
  views.forEach((view) => view.show());
})();
