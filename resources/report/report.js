"use strict";
// The panes and what links them. Everything it shows is in the page already: texts go from element to element as text.
(() => {
  const ROW = 18, HEIGHT = 480, CHUNK = 64;  // of a line and of a pane, as in the style sheet; lines laid out at once
  const byId = (id) => document.getElementById(id);
  const made = (name, kind, words) => {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    if (words !== undefined) element.textContent = words;
    return element;
  };

  // ---- where in the page one is -------------------------------------------------------------------------------
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new Map();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
    const here = [...links.keys()].find((id) => seen.get(id));
    if (here) for (const [id, link] of links) link.classList.toggle("here", id === here);
  }, { rootMargin: "0px 0px -55% 0px" });
  for (const id of links.keys()) if (byId(id)) watcher.observe(byId(id));

  // ---- the fusion ledger's filter -----------------------------------------------------------------------------
  const ledger = byId("ledger"), words = byId("ledger-filter"), rejected = byId("ledger-rejected");
  if (ledger) {
    document.querySelector(".filter").hidden = false;
    const rows = [...ledger.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const filter = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const [row, text] of rows)
        row.hidden = (rejected.checked && !row.classList.contains("no")) || !wanted.every((word) => text.includes(word));
    };
    words.addEventListener("input", filter);
    rejected.addEventListener("change", filter);
  }

  // ---- one selection through the page -------------------------------------------------------------------------
  const source = byId("links");
  const data = source ? JSON.parse(source.textContent) : { nodes: [], sets: [], texts: [] };
  const number = new Map(data.nodes.map((name, index) => [name, index]));
  const said = byId("chosen"), panes = byId("panes");
  const views = [];
  let chosen = new Set();
  const marked = [...document.querySelectorAll("[data-nodes]")].map((item) =>
    [item, item.dataset.nodes.split(" ").map((name) => number.get(name)).filter((n) => n !== undefined)]);

  const holds = (nodes) => nodes.some((n) => chosen.has(n));

  function choose(nodes, from) {
    const same = nodes.length === chosen.size && nodes.every((n) => chosen.has(n));
    chosen = new Set(same ? [] : nodes);
    tell();
    for (const [item, own] of marked) item.classList.toggle("hit", holds(own));
    const sets = data.sets.map(holds);
    for (const view of views) {
      if (view !== from && chosen.size && !view.locked) view.bring(sets);
      view.mark(sets, view !== from);
    }
  }

  function tell() {
    if (!said) return;
    said.textContent = "";
    if (!chosen.size) {
      said.append(made("span", "", "Click a line, a mark in a plot or a row of a table: what comes from the same graph nodes lights up everywhere. In a pane: arrow keys, Enter, Esc."));
      return;
    }
    const names = [...chosen].map((n) => `${n} ${data.nodes[n]}`).join(", ");
    const clear = made("button", "", "Clear (Esc)");
    clear.type = "button";
    clear.addEventListener("click", () => choose([]));
    const list = made("code", "", names);
    list.title = names;
    said.append(made("b", "", chosen.size === 1 ? "Node" : `${chosen.size} nodes`), list, clear);
  }

  for (const [item, own] of marked) {
    if (!own.length) continue;
    item.addEventListener("click", () => { if (!String(getSelection())) choose(own); });
    item.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(own); }
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && chosen.size) choose([]); });

  // ---- panes ----------------------------------------------------------------------------------------------------
  const TOKENS = /(;.*|\/\/.*|^\s*#.*)|("(?:[^"\\]|\\.)*")|(%[\w.$-]+)|([@!^][\w.$-]+)|\b(define|declare|call|ret|br|load|store|phi|func|return|for|if|else|while|def|kernel|elementwise|module|in|to|step|yield|fma|alloca|getelementptr|icmp|fcmp|select|switch|attributes|target|tail|vector|memref|tensor|scf|arith|math|memref|index|float|double|half|ptr|i\d+|[fu]\d+|bf16)\b|(-?\b(?:0x[\da-fA-F]+|\d[\d.]*(?:e[-+]?\d+)?)\b)/g;
  const KINDS = ["c", "q", "v", "y", "k", "m"];

  function colour(body) {
    const line = body.textContent, parts = [];
    let end = 0;
    for (const match of line.matchAll(TOKENS)) {
      if (match.index > end) parts.push(line.slice(end, match.index));
      parts.push(made("span", KINDS[match.slice(1).findIndex((group) => group !== undefined)], match[0]));
      end = match.index + match[0].length;
    }
    if (!parts.length) return;
    parts.push(line.slice(end));
    body.replaceChildren(...parts);
  }

  function makePane(first) {
    const box = made("section", "pane"), head = made("header"), code = made("div", "code");
    const select = made("select"), lock = made("button", "", "Lock"), share = made("span");
    box.setAttribute("aria-label", "IR pane");
    select.setAttribute("aria-label", "Stage and kernel of this pane");
    lock.type = "button";
    lock.title = "Keep this text when the selection moves to another kernel";
    lock.setAttribute("aria-pressed", "false");
    code.tabIndex = 0;
    const groups = new Map();
    data.texts.forEach((text, index) => {
      if (!groups.has(text.stage)) {
        groups.set(text.stage, made("optgroup"));
        groups.get(text.stage).label = text.stage;
        select.append(groups.get(text.stage));
      }
      const option = made("option", "", text.kernel ? `${text.stage} · ${text.kernel}` : text.stage);
      option.value = index;
      groups.get(text.stage).append(option);
    });
    head.append(select, lock, share);
    box.append(head, code);
    panes.append(box);

    const view = { locked: false, shown: -1, rows: [], cursor: -1 };
    const paint = () => {  // colours the lines in view and around it
      const begin = Math.max(Math.floor(code.scrollTop / ROW) - 10, 0);
      const end = Math.min(begin + Math.ceil(HEIGHT / ROW) + 20, view.rows.length);
      for (let at = begin; at < end; at++) {
        const row = view.rows[at];
        if (!row.painted) { row.painted = true; colour(row.body); }
      }
    };
    const move = (at, scroll) => {
      if (view.cursor >= 0) view.rows[view.cursor]?.element.classList.remove("cursor");
      view.cursor = Math.min(Math.max(at, 0), view.rows.length - 1);
      view.rows[view.cursor].element.classList.add("cursor");
      const top = view.cursor * ROW;
      if (scroll && (top < code.scrollTop || top + ROW > code.scrollTop + HEIGHT)) code.scrollTop = top - HEIGHT / 2;
    };
    const line = (words, at, set) => {
      const nodes = data.sets[set] || [];
      const element = made("div", nodes.length ? "line linked" : "line"), body = made("span", "", words), node = made("span", "node");
      if (nodes.length) {
        node.textContent = nodes[0] + (nodes.length > 1 ? "+" : "");
        node.style.borderColor = `var(--s${nodes[0] % 10})`;
        node.title = nodes.map((n) => `${n} ${data.nodes[n]}`).join("\n");
      }
      element.append(made("span", "at", at + 1), node, body);
      element.at = at;
      return { element, body, set, nodes, painted: false };
    };
    view.show = (index) => {
      const text = data.texts[index], lines = byId(`text${index}`).textContent.split("\n");
      if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
      view.shown = index;
      view.cursor = -1;
      select.value = index;
      view.rows = lines.map((words, at) => line(words, at, text.lines[at] === undefined ? -1 : text.lines[at]));
      const chunks = [];  // the browser lays out only those in view, and its own search still finds the others
      for (let at = 0; at < lines.length; at += CHUNK) {
        const chunk = made("div", "chunk"), rows = view.rows.slice(at, at + CHUNK);
        chunk.style.containIntrinsicHeight = `${rows.length * ROW}px`;
        chunk.append(...rows.map((row) => row.element));
        chunks.push(chunk);
      }
      const longest = lines.reduce((most, words) => Math.max(most, words.length), 0);
      const all = made("div");
      all.style.minWidth = `calc(${longest}ch + 9em)`;
      all.append(...chunks);
      code.replaceChildren(all);
      code.scrollTop = 0;
      const known = view.rows.filter((row) => row.nodes.length).length;
      share.textContent = `${lines.length.toLocaleString("en")} lines, ${Math.round((known / lines.length) * 100)}% linked`;
      paint();
    };
    view.mark = (sets, scroll) => {
      let first = -1;
      view.rows.forEach((row, at) => {
        const hit = row.set >= 0 && sets[row.set];
        row.element.classList.toggle("hit", hit);
        if (hit && first < 0) first = at;
      });
      if (scroll && first >= 0) code.scrollTop = Math.max(first * ROW - HEIGHT / 4, 0);
      paint();
    };
    view.soft = (set) => { for (const row of view.rows) row.element.classList.toggle("soft", set >= 0 && row.set === set); };
    view.bring = (sets) => {  // where this text has none of the nodes, the same stage of the kernel that has most of them
      const hits = (index) => data.texts[index].lines.reduce((sum, set) => sum + (sets[set] ? 1 : 0), 0);
      if (hits(view.shown)) return;
      const stage = data.texts[view.shown].stage;
      let best = -1, most = 0;
      data.texts.forEach((text, index) => {
        const found = text.stage === stage ? hits(index) : 0;
        if (found > most) [best, most] = [index, found];
      });
      if (best >= 0) view.show(best);
    };

    const under = (event) => {
      const row = event.target.closest(".line");
      return row ? row.at : -1;
    };
    code.addEventListener("click", (event) => {
      const at = under(event);
      if (at < 0 || String(getSelection())) return;
      move(at, false);
      if (view.rows[at].nodes.length) choose(view.rows[at].nodes, view);
    });
    let hovered = -2;
    code.addEventListener("mouseover", (event) => {
      const at = under(event), set = at >= 0 && view.rows[at].nodes.length ? view.rows[at].set : -1;
      if (set === hovered) return;
      hovered = set;
      requestAnimationFrame(() => views.forEach((other) => other.soft(set)));
    });
    code.addEventListener("mouseleave", () => { hovered = -2; views.forEach((other) => other.soft(-1)); });
    code.addEventListener("scroll", paint, { passive: true });
    code.addEventListener("keydown", (event) => {
      const page = Math.floor(HEIGHT / ROW) - 1;
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
      if (event.key in steps && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        move(view.cursor < 0 ? Math.floor(code.scrollTop / ROW) : view.cursor + steps[event.key], true);
      } else if ((event.key === "Enter" || event.key === " ") && view.cursor >= 0) {
        event.preventDefault();
        if (view.rows[view.cursor].nodes.length) choose(view.rows[view.cursor].nodes, view);
      }
    });
    select.addEventListener("change", () => { view.show(Number(select.value)); view.mark(data.sets.map(holds), true); });
    lock.addEventListener("click", () => {
      view.locked = !view.locked;
      lock.setAttribute("aria-pressed", String(view.locked));
    });
    views.push(view);
    view.show(first);
  }

  if (panes && data.texts.length) {
    said.hidden = false;
    byId("texts").hidden = true;
    const at = (stage) => {  // of the kernel that takes the most time, where the stage is one of kernels
      const hot = data.texts.findIndex((text) => text.stage === stage && text.kernel === data.hot);
      return hot >= 0 ? hot : data.texts.findIndex((text) => text.stage === stage);
    };
    const wanted = ["mo", "source", "llvm-opt", "asm"].map(at).filter((index) => index >= 0);
    for (const index of wanted.length ? wanted : [0]) makePane(index);
    tell();
  }
})();
