// The page itself: a tree that unfolds, results, trace, relations. Text of documents is only ever
// set as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const MORE = 100, SHOWN = 200;
const $ = (id) => document.getElementById(id);

function make(tag, options = {}, ...inside) {
  const one = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "on") Object.entries(value).forEach(([name, run]) => one.addEventListener(name, run));
    else if (key in one && key !== "list") one[key] = value;
    else one.setAttribute(key, value);
  }
  one.append(...inside.filter((part) => part !== null && part !== undefined));
  return one;
}

data.nodes.forEach((node) => { node.children = []; });
data.nodes.forEach((node, at) => { if (node.parent >= 0) data.nodes[node.parent].children.push(at); });
const evaluator = new Evaluator(data);
const roots = evaluator.top;
let hits = new Map();
let now = -1;
const lines = new Map();

function title(at) {
  const node = data.nodes[at];
  const named = node.attributes.title ?? node.attributes.name;
  const values = () => Object.entries(node.attributes)
    .filter(([name]) => name !== "tokens").map(([name, value]) => `${name}: ${value}`).join("; ");
  const said = node.kind === "Document" || node.kind === "Section" || !node.text ? named ?? node.text : node.text;
  return (said || values() || "").replace(/\s+/g, " ").slice(0, 160);
}
function path(at) {
  const found = [];
  for (let up = at; up >= 0; up = data.nodes[up].parent) {
    if (["Section", "Document"].includes(data.nodes[up].kind)) found.unshift(title(up));
  }
  // A document often has the title of its only section.
  return found.filter((one, place) => one !== found[place - 1]).join(" › ");
}
function address(at) {
  const found = [];
  for (let one = at; one >= 0; one = data.nodes[one].parent) {
    const { kind, parent } = data.nodes[one];
    const same = evaluator.children(parent).filter((other) => data.nodes[other].kind === kind);
    const named = NAME.exec(kind)?.[0] === kind ? kind : `\`${kind}\``;
    found.unshift(`/${named}[${(data.nodes[one].place ?? same.indexOf(one) + 1)}]`);
  }
  return found.join("");
}

function line(at) {
  const hit = hits.get(at);
  const one = make("span", {
    className: "line" + (hits.has(at) ? " hit" : "") + (at === now ? " now" : ""), tabIndex: 0,
    on: {
      click: (event) => { event.preventDefault(); select(at); },
      keydown: (event) => { if (event.key === "Enter") { event.preventDefault(); select(at); } },
    },
  }, make("span", { className: "kind", textContent: data.nodes[at].kind }), title(at));
  lines.set(at, one);
  return hit === undefined || hit === null ? one
    : make("span", {}, one, make("span", { className: "score", textContent: hit.toFixed(2) }));
}
function branch(at) {
  const below = data.nodes[at].children;
  if (!below.length) return make("div", { className: "leaf" }, line(at));
  const one = make("details", {}, make("summary", {}, line(at)));
  one.dataset.at = at;
  one.addEventListener("toggle", () => { if (one.open) fill(one, below); });
  return one;
}
function fill(box, below, start = 0) {
  if (start === 0 && box.dataset.filled) return;
  box.dataset.filled = "yes";
  below.slice(start, start + MORE).forEach((child) => box.append(branch(child)));
  if (start + MORE < below.length) {
    const more = make("button", {
      className: "leaf", textContent: `${below.length - start - MORE} more …`,
      on: { click: () => { more.remove(); fill(box, below, start + MORE); } },
    });
    box.append(more);
  }
}
function draw() {
  lines.clear();
  const tree = $("tree");
  tree.replaceChildren();
  fill(tree, roots);
  delete tree.dataset.filled;
  const first = [...hits.keys()].slice(0, SHOWN);
  first.forEach(reveal);
  if (!first.length && roots.length <= 3) roots.forEach((at) => open(at));
}
function open(at) {
  const box = document.querySelector(`#tree details[data-at="${Number(at)}"]`);
  if (box && !box.open) { box.open = true; fill(box, data.nodes[at].children); }
  return box;
}
function reveal(at) {
  const way = [];
  for (let up = data.nodes[at].parent; up >= 0; up = data.nodes[up].parent) way.unshift(up);
  for (const up of way) {
    const box = open(up);
    const next = way[way.indexOf(up) + 1] ?? at;
    const place = data.nodes[up].children.indexOf(next);
    // A child beyond the first ones is behind "more".
    while (box && !lines.has(next) && place >= 0) {
      const more = [...box.children].reverse().find((one) => one.tagName === "BUTTON");
      if (!more) break;
      more.click();
    }
  }
}
function select(at, move = false) {
  lines.get(now)?.classList.remove("now");
  now = at;
  reveal(at);
  lines.get(at)?.classList.add("now");
  if (move) lines.get(at)?.scrollIntoView({ block: "center" });
  show("node");
}

const tabs = { results: "Results", trace: "Trace", node: "Node", graph: "Relations" };
let tab = "results", last = { results: [], trace: [], plan: "", value: null };
function show(name) {
  tab = name;
  $("tabs").replaceChildren(...Object.entries(tabs).map(([key, label]) => make("button", {
    type: "button", role: "tab", "aria-selected": key === tab ? "true" : "false", textContent: label,
    on: { click: () => show(key) },
  })));
  $("panel").replaceChildren(...({ results, trace, node, graph })[name]());
}
function go(at) {
  return make("span", { className: "line", tabIndex: 0, on: {
    click: () => select(at, true),
    keydown: (event) => { if (event.key === "Enter") select(at, true); },
  } }, make("span", { className: "kind", textContent: data.nodes[at].kind }), title(at));
}
function results() {
  if (last.value !== null) return [make("pre", { textContent: last.value })];
  if (!last.results.length) return [make("p", { className: "dim", textContent: "No results yet. Try an example, or click through the tree." })];
  const list = make("ol", {}, ...last.results.slice(0, SHOWN).map(({ at, score, why }) => make("li", {},
    score === null ? null : make("span", { className: "score" },
      make("span", { className: "bar", style: `width:${Math.round(40 * score)}px` }), score.toFixed(2)),
    go(at), make("div", { className: "dim", textContent: path(at) }),
    make("div", { className: "dim", textContent: address(at) + (why ? `  —  ${why}` : "") }))));
  const more = last.results.length - SHOWN;
  return more > 0 ? [list, make("p", { className: "dim", textContent: `… and ${more} more` })] : [list];
}
function trace() {
  const steps = last.trace.map((step) => make("div", { className: "step" },
    make("code", { textContent: step.text }),
    make("span", { className: "dim", textContent: ` kept ${step.kept_count}, dropped ${step.dropped_count}`
      + (step.threshold === null || step.threshold === undefined ? "" : `, threshold ${step.threshold.toFixed(2)}`) }),
    ...[["kept", "+"], ["dropped", "−"]].flatMap(([name, sign]) => step[name].slice(0, 12).map((one) => make("div", {},
      make("span", { className: name, textContent: `${sign} ${one.score === null ? "" : one.score.toFixed(3)} ` }),
      one.at >= 0 ? go(one.at) : make("span", { textContent: one.label || "root" })))),
    step.kept_count + step.dropped_count > 24 ? make("div", { className: "dim", textContent: "…" }) : null));
  const plan = last.plan ? [make("h3", { textContent: "Plan" }), make("pre", { textContent: last.plan })] : [];
  return steps.length || plan.length ? [...steps, ...plan] : [make("p", { className: "dim", textContent: "Run a query to see what each step keeps." })];
}
function node() {
  if (now < 0) return [make("p", { className: "dim", textContent: "Click a node in the tree." })];
  const one = data.nodes[now];
  const rows = Object.entries(one.attributes).map(([name, value]) => make("tr", {},
    make("th", { textContent: `@${name}` }), make("td", { textContent: Array.isArray(value) ? value.join(", ") : String(value) })));
  return [
    make("div", { className: "kind", textContent: one.kind }),
    make("div", { className: "dim", textContent: path(now) }),
    make("p", {}, make("code", { textContent: address(now) }), " ",
      make("button", { type: "button", textContent: "query it", on: { click: () => { $("query").value = address(now); run(); } } })),
    make("p", { className: "text", textContent: one.text }),
    rows.length ? make("table", {}, ...rows) : null,
    make("div", { className: "dim", textContent: `id ${one.id}` }),
  ].filter(Boolean);
}
function graph() {
  if (now < 0) return [make("p", { className: "dim", textContent: "Click a node in the tree, then see what it is related to." })];
  const near = [...(evaluator.out.get(now) ?? []).map(([name, to]) => [name, to, true]),
    ...(evaluator.into.get(now) ?? []).map(([name, to]) => [name, to, false])];
  if (!near.length) return [make("p", { className: "dim", textContent: `${title(now)} has no relations in this page.` })];
  const ns = "http://www.w3.org/2000/svg";
  const draw1 = (tag, options, text, run) => {
    const part = document.createElementNS(ns, tag);
    Object.entries(options).forEach(([key, value]) => part.setAttribute(key, value));
    if (text) part.textContent = text;
    if (run) part.addEventListener("click", run);
    return part;
  };
  const picture = draw1("svg", { viewBox: "0 0 640 380", role: "img", "aria-label": "Relations" });
  const shown = near.slice(0, 24), middle = [320, 190];
  shown.forEach(([name, to, away], place) => {
    const turn = (2 * Math.PI * place) / shown.length - Math.PI / 2;
    const x = middle[0] + 215 * Math.cos(turn), y = middle[1] + 140 * Math.sin(turn);
    picture.append(draw1("line", { class: "edge", x1: middle[0], y1: middle[1], x2: x, y2: y }),
      draw1("text", { class: "name", x: (middle[0] + x) / 2, y: (middle[1] + y) / 2, "text-anchor": "middle" }, away ? `${name} →` : `← ${name}`),
      draw1("circle", { class: "spot", cx: x, cy: y, r: 9 }, "", () => { select(to, true); show("graph"); }),
      draw1("text", { x, y: y + (y < middle[1] ? -14 : 24), "text-anchor": "middle" }, title(to).slice(0, 26)));
  });
  picture.append(draw1("circle", { class: "spot now", cx: middle[0], cy: middle[1], r: 12 }),
    draw1("text", { x: middle[0], y: middle[1] + 28, "text-anchor": "middle" }, title(now).slice(0, 30)));
  const list = make("ol", {}, ...near.map(([name, to, away]) => make("li", {}, make("span", { className: "dim", textContent: away ? `${name} → ` : `← ${name} ` }), go(to))));
  return [picture, list];
}

function say(text, bad = false) { $("said").textContent = text; $("said").className = bad ? "bad" : ""; }
function stored(text) {
  const one = data.queries.find((query) => query.query === text.trim());
  if (!one) return false;
  last = {
    results: one.results.map(([at, score, why]) => ({ at, score, why })), plan: one.plan, value: one.value,
    trace: one.trace.map((step) => ({ ...step,
      kept: step.kept.map(([at, label, score]) => ({ at, label, score })),
      dropped: step.dropped.map(([at, label, score]) => ({ at, label, score })) })),
  };
  const count = one.value === null ? `${one.count} result${one.count === 1 ? "" : "s"}` : "a value";
  say(`${count}, as the store's model graded it when this page was written`);
  return true;
}
function live(text) {
  const found = evaluator.run(text);
  const nodes = Array.isArray(found.value) ? found.value.filter((at) => at >= 0) : null;
  const values = nodes ? null : found.value?.values;
  const entry = (at) => ({ at, label: "", score: null });
  last = {
    results: (nodes ?? []).map((at) => ({ at, score: null, why: "" })), plan: "",
    value: nodes ? null : values ? values.join("\n") : String(found.value),
    trace: found.trace.map((step) => ({ text: step.text, threshold: null, kept_count: step.kept.length,
      dropped_count: step.dropped.length, kept: step.kept.map(entry), dropped: step.dropped.map(entry) })),
  };
  say(nodes ? `${nodes.length} result${nodes.length === 1 ? "" : "s"}` : "a value");
}
function words(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = data.nodes.flatMap((node, at) => {
    const said = `${node.text} ${Object.values(node.attributes).join(" ")}`.toLowerCase();
    return wanted.every((word) => said.includes(word)) ? [{ at, score: null, why: "" }] : [];
  });
  last = { results: found, plan: "", value: null, trace: [] };
  say(`${found.length} node${found.length === 1 ? "" : "s"} with ${wanted.length > 1 ? "all these words" : "this word"}; a path starts with / or //`);
}
function run() {
  const text = $("query").value.trim();
  if (!text) { last = { results: [], plan: "", value: null, trace: [] }; say(""); }
  else {
    try {
      if (!stored(text)) (/^[\/(]|^[a-z-]+\(/.test(text) ? live : words)(text);
    } catch (problem) {
      if (!(problem instanceof QueryProblem)) throw problem;
      last = { results: [], plan: "", value: null, trace: [] };
      say(`${problem.message}\n${text.replace(/\s/g, " ")}\n${" ".repeat(problem.place ?? 0)}^`, true);
      $("said").style.fontFamily = "ui-monospace, monospace";
    }
  }
  hits = new Map(last.results.map(({ at, score }) => [at, score]));
  draw();
  if (last.results.length) lines.get(last.results[0].at)?.scrollIntoView({ block: "center" });
  show("results");
}

$("ask").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("examples").append(...data.queries.map(({ query }) => make("option", { value: query, textContent: query })),
  ...data.examples.map((query) => make("option", { value: query, textContent: query })));
$("examples").addEventListener("change", (event) => { if (event.target.value) { $("query").value = event.target.value; run(); } });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== $("query")) { event.preventDefault(); $("query").focus(); }
});
const asked = new URLSearchParams(location.hash.slice(1));
$("query").value = asked.get("q") ?? "";
run();
if (asked.get("node")) {
  const at = data.nodes.findIndex((one) => one.id === asked.get("node"));
  if (at >= 0) select(at, true);
}
if (asked.get("tab") in tabs) show(asked.get("tab"));
