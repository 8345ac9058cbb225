// The structural half of SemXPath over the exported nodes: paths, axes, positions, typed comparisons.
// Graded conditions (=~) need the model that made the store; their results come with the page.
"use strict";

const AXES = new Set(["child", "descendant", "descendant-or-self", "self", "parent", "ancestor",
  "ancestor-or-self", "following-sibling", "preceding-sibling", "attribute", "rel", "inv"]);
const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_]*(?:-[\p{L}\p{M}\p{N}_]+)*/u;

class QueryProblem extends Error {
  constructor(message, place) { super(message); this.place = place; }
}

function tokens(text) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    let m;
    if ((m = /^\s+/.exec(rest))) { at += m[0].length; continue; }
    if ((m = /^(?:"([^"]*)"|'([^']*)')/.exec(rest))) found.push(["string", m[1] ?? m[2], at]);
    else if ((m = /^(?:\d+(?:\.\d+)?|\.\d+)/.exec(rest))) found.push(["number", Number(m[0]), at]);
    else if ((m = /^`([^`]+)`/.exec(rest))) found.push(["name", m[1], at]);
    else if ((m = NAME.exec(rest))) found.push(["name", m[0], at]);
    else if ((m = /^(?:\/\/|::|\.\.|<=|>=|!=|=~|~=|[\/@.*[\]()=<>|,:+\-{}])/.exec(rest))) {
      found.push([m[0], m[0], at]);
    } else throw new QueryProblem(`unexpected '${text[at]}'`, at);
    at += m[0].length;
  }
  found.push(["end", "", text.length]);
  return found;
}

class Parser {
  constructor(text) { this.list = tokens(text); this.at = 0; this.depth = 0; }
  get kind() { return this.list[this.at][0]; }
  get value() { return this.list[this.at][1]; }
  peek(n) { return this.list[Math.min(this.at + n, this.list.length - 1)][0]; }
  next() { return this.list[this.at++]; }
  fail(wanted) {
    const what = this.kind === "end" ? "end of the query" : `'${this.value}'`;
    throw new QueryProblem(`unexpected ${what}; expected ${wanted}`, this.list[this.at][2]);
  }
  take(kind) { if (this.kind !== kind) this.fail(`'${kind}'`); return this.next(); }
  all() {
    const found = this.expr();
    if (this.kind !== "end") this.fail("the end");
    return found;
  }
  expr() {
    if (++this.depth > 100) throw new QueryProblem("too deeply nested", this.list[this.at][2]);
    let left = this.and();
    while (this.kind === "name" && this.value === "or") {
      this.next();
      left = { op: "or", left, right: this.and() };
    }
    this.depth--;
    return left;
  }
  and() {
    let left = this.comparison();
    while (this.kind === "name" && this.value === "and") {
      this.next();
      left = { op: "and", left, right: this.comparison() };
    }
    return left;
  }
  comparison() {
    const left = this.union();
    if (["=~", "~="].includes(this.kind)) {
      throw new QueryProblem("meaning (=~) is graded by the store's model; this page holds the "
        + "results of the graded queries it was written with", this.list[this.at][2]);
    }
    if (!["=", "!=", "<", "<=", ">", ">="].includes(this.kind)) return left;
    return { op: this.next()[0], left, right: this.union() };
  }
  union() {
    let left = this.primary();
    while (this.kind === "|") { this.next(); left = { op: "|", left, right: this.primary() }; }
    return left;
  }
  primary() {
    if (this.kind === "-") { this.next(); return { op: "negative", of: this.primary() }; }
    if (this.kind === "string" || this.kind === "number") return { op: "value", value: this.next()[1] };
    if (this.kind === "name" && this.peek(1) === "(" && this.value !== "node") {
      const name = this.next()[1], place = this.list[this.at][2];
      this.next();
      const parts = [];
      while (this.kind !== ")") { parts.push(this.expr()); if (this.kind !== ")") this.take(","); }
      this.next();
      return this.tail({ op: "call", name, parts, place });
    }
    if (this.kind === "(") {
      this.next();
      const of = this.expr();
      this.take(")");
      return this.tail({ op: "group", of });
    }
    return this.path();
  }
  tail(start) {
    const filters = this.filters();
    if (!filters.length && this.kind !== "/" && this.kind !== "//") return start.op === "group" ? start.of : start;
    return { op: "path", start, filters, steps: this.steps() };
  }
  path() {
    const root = this.kind === "/" || this.kind === "//";
    if (this.kind === "/" && ["end", "]", ")", "="].includes(this.peek(1))) {
      this.next();
      return { op: "path", root: true, steps: [], filters: [] };
    }
    const steps = root ? this.steps() : [this.step(), ...this.steps()];
    return { op: "path", root, steps, filters: [] };
  }
  steps() {
    const found = [];
    while (this.kind === "/" || this.kind === "//") {
      // As in XPath, `//X[2]` counts below each parent.
      if (this.next()[0] === "//") found.push({ axis: "descendant-or-self", test: "*", filters: [], silent: true });
      found.push(this.step());
    }
    return found;
  }
  step() {
    const begin = this.list[this.at][2];
    let axis = "child", test = "*";
    if (this.kind === ".") { this.next(); axis = "self"; }
    else if (this.kind === "..") { this.next(); axis = "parent"; }
    else if (this.kind === "@") { this.next(); axis = "attribute"; test = this.named(); }
    else {
      if (this.kind === "name" && this.peek(1) === "::") {
        axis = this.next()[1];
        this.next();
        if (!AXES.has(axis)) throw new QueryProblem(`this page does not walk the axis '${axis}'`, begin);
      }
      test = this.named();
    }
    return { axis, test, filters: this.filters(), begin };
  }
  named() {
    if (this.kind === "*") { this.next(); return "*"; }
    if (this.kind !== "name") this.fail("a name");
    const name = this.next()[1];
    if (name === "node" && this.kind === "(") { this.next(); this.take(")"); return "*"; }
    return name;
  }
  filters() {
    const found = [];
    while (this.kind === "[") {
      const begin = this.next()[2];
      found.push({ ...this.filter(), begin });
      this.take("]");
    }
    return found;
  }
  filter() {
    const whole = () => {
      const sign = this.kind === "-" ? (this.next(), -1) : 1;
      return sign * this.take("number")[1];
    };
    const signed = this.kind === "-" ? 1 : 0;
    if (this.peek(signed) === "number" && ["]", ":"].includes(this.peek(signed + 1)) || this.kind === ":") {
      const from = this.kind === ":" ? null : whole();
      if (this.kind !== ":") return { index: from };
      this.next();
      return { slice: [from, this.kind === "]" ? null : whole()] };
    }
    return { test: this.expr() };
  }
}

class Evaluator {
  constructor(data) {
    this.nodes = data.nodes;
    this.kinds = new Set(data.nodes.map((node) => node.kind));
    this.named = new Map();
    for (const node of data.nodes) {
      const held = this.named.get(node.kind) ?? this.named.set(node.kind, new Set()).get(node.kind);
      Object.keys(node.attributes).forEach((name) => held.add(name));
    }
    this.out = new Map();
    this.into = new Map();
    for (const [source, name, target] of data.edges) {
      this.link(this.out, source, name, target);
      this.link(this.into, target, name, source);
    }
    this.relations = new Set(data.edges.map((edge) => edge[1]));
  }
  link(map, from, name, to) { (map.get(from) ?? map.set(from, []).get(from)).push([name, to]); }

  run(text) {
    this.text = text;
    this.trace = [];
    const tree = new Parser(text).all();
    const value = this.value(tree, { node: -1, position: 1, size: 1 }, true);
    return { value, trace: this.trace };
  }
  children(at) { return at < 0 ? this.top : this.nodes[at].children; }
  get top() { return this.roots ?? (this.roots = this.nodes.flatMap((node, at) => node.parent < 0 ? [at] : [])); }
  parent(at) { return this.nodes[at].parent; }
  descendants(at) {
    const found = [], work = [...this.children(at)].reverse();
    while (work.length) {
      const one = work.pop();
      found.push(one);
      const below = this.children(one);
      for (let i = below.length - 1; i >= 0; i--) work.push(below[i]);
    }
    return found;
  }
  siblings(at) { return this.children(this.parent(at)); }
  ancestors(at) {
    const found = [];
    for (let up = at < 0 ? -1 : this.parent(at); up >= 0; up = this.parent(up)) found.push(up);
    return found;
  }
  axis(step, at) {
    switch (step.axis) {
      case "child": return this.children(at);
      case "descendant": return this.descendants(at);
      case "descendant-or-self": return [at, ...this.descendants(at)];
      case "self": return [at];
      case "parent": return at < 0 || this.parent(at) < 0 ? (at < 0 ? [] : [-1]) : [this.parent(at)];
      case "ancestor": return this.ancestors(at);
      case "ancestor-or-self": return [at, ...this.ancestors(at)];
      case "following-sibling": {
        if (at < 0) return [];
        const all = this.siblings(at);
        return all.slice(all.indexOf(at) + 1);
      }
      case "preceding-sibling": {
        if (at < 0) return [];
        const all = this.siblings(at);
        return all.slice(0, all.indexOf(at)).reverse();
      }
      case "rel": case "inv": {
        const edges = (step.axis === "rel" ? this.out : this.into).get(at) ?? [];
        return edges.filter(([name]) => step.test === "*" || name === step.test).map(([, to]) => to);
      }
      default: throw new QueryProblem(`this page does not walk the axis '${step.axis}'`, step.begin);
    }
  }
  steps(set, steps, traced) {
    for (const step of steps) {
      if (step.axis === "attribute") {
        const values = set.flatMap((at) => {
          const value = at < 0 ? undefined : this.attribute(at, step.test);
          return value === undefined ? [] : Array.isArray(value) ? value : [value];
        });
        return { values };
      }
      set = this.step(set, step, traced && !step.silent);
    }
    return set;
  }
  step(set, given, traced) {
    const step = this.resolved(given);
    const relation = step.axis === "rel" || step.axis === "inv";
    const kept = new Set();
    const marks = step.filters.map(() => ({ kept: new Set(), dropped: new Set() }));
    const reached = new Set();
    for (const at of set) {
      let run = this.axis(step, at).filter((one) =>
        (one >= 0 || step.axis === "self" || step.axis === "parent" || step.axis === "descendant-or-self")
        && (relation || step.test === "*" || (one >= 0 && this.nodes[one].kind === step.test)));
      run.forEach((one) => reached.add(one));
      step.filters.forEach((filter, place) => {
        const before = run;
        run = this.filtered(run, filter);
        const passed = new Set(run);
        before.forEach((one) => marks[place][passed.has(one) ? "kept" : "dropped"].add(one));
      });
      run.forEach((one) => kept.add(one));
    }
    if (traced) {
      const label = `${step.axis === "child" ? "" : `${step.axis}::`}${step.test}`;
      this.trace.push({ text: label, kept: this.ordered(reached), dropped: [] });
      step.filters.forEach((filter, place) => {
        marks[place].kept.forEach((one) => marks[place].dropped.delete(one));
        const end = step.filters[place + 1]?.begin ?? this.text.length;
        const text = this.text.slice(filter.begin, end);
        this.trace.push({
          text: text.slice(0, text.lastIndexOf("]") + 1 || undefined),
          kept: this.ordered(marks[place].kept), dropped: this.ordered(marks[place].dropped),
        });
      });
    }
    return this.ordered(kept);
  }
  // `/员工/所属部门`: a name that is no kind but a relation is walked as one.
  resolved(step) {
    if (step.axis === "child" && step.test !== "*" && !this.kinds.has(step.test)) {
      if (this.relations.has(step.test)) return { ...step, axis: "rel" };
      const close = [...this.kinds].find((kind) => kind.toLowerCase() === step.test.toLowerCase());
      throw new QueryProblem(`unknown kind '${step.test}'${close ? `; did you mean '${close}'?` : ""}`, step.begin);
    }
    if (step.axis === "descendant" && step.test !== "*" && !this.kinds.has(step.test)) {
      const close = [...this.kinds].find((kind) => kind.toLowerCase() === step.test.toLowerCase());
      throw new QueryProblem(`unknown kind '${step.test}'${close ? `; did you mean '${close}'?` : ""}`, step.begin);
    }
    return step;
  }
  ordered(set) { return [...set].sort((a, b) => a - b); }
  filtered(run, filter) {
    if (filter.index !== undefined) {
      const place = filter.index < 0 ? run.length + filter.index : filter.index - 1;
      return run[place] === undefined ? [] : [run[place]];
    }
    if (filter.slice) {
      let [from, to] = filter.slice;
      from = from === null ? 1 : from < 0 ? run.length + from + 1 : from;
      to = to === null ? run.length : to < 0 ? run.length + to + 1 : to;
      return run.slice(Math.max(from, 1) - 1, Math.max(to, 0));
    }
    return run.filter((node, place) => {
      const value = this.value(filter.test, { node, position: place + 1, size: run.length });
      return typeof value === "number" ? value === place + 1 : this.truth(value);
    });
  }
  attribute(at, name) { return this.nodes[at].attributes[name]; }
  value(tree, context, traced = false) {
    switch (tree.op) {
      case "value": return tree.value;
      case "negative": return -this.number(this.value(tree.of, context));
      case "group": return this.value(tree.of, context, traced);
      case "or": return this.truth(this.value(tree.left, context)) || this.truth(this.value(tree.right, context));
      case "and": return this.truth(this.value(tree.left, context)) && this.truth(this.value(tree.right, context));
      case "|": return this.ordered(new Set([...this.value(tree.left, context, traced), ...this.value(tree.right, context, traced)]));
      case "call": return this.call(tree, context, traced);
      case "path": return this.path(tree, context, traced);
      default: return this.compare(tree.op, this.value(tree.left, context), this.value(tree.right, context));
    }
  }
  path(tree, context, traced) {
    if (tree.start) {
      let set = this.value(tree.start, context, traced);
      for (const filter of tree.filters) set = this.filtered(set, filter);
      return this.steps(set, tree.steps, traced);
    }
    if (!tree.root && tree.steps.length === 1 && tree.steps[0].axis === "child" && context.node >= 0) {
      const step = tree.steps[0];
      const has = this.named.get(this.nodes[context.node].kind)?.has(step.test);
      const child = this.kinds.has(step.test) && this.children(context.node).some((one) => this.nodes[one].kind === step.test);
      if (has && !child && !step.filters.length) {
        const value = this.attribute(context.node, step.test);
        return { values: value === undefined ? [] : Array.isArray(value) ? value : [value] };
      }
      if (!this.kinds.has(step.test) && !this.relations.has(step.test) && step.test !== "*") return { values: [] };
    }
    return this.steps([tree.root ? -1 : context.node], tree.steps, traced);
  }
  string(value) {
    if (Array.isArray(value)) return value.length ? this.content(value[0]) : "";
    if (value?.values) return value.values.length ? String(value.values[0]) : "";
    return String(value);
  }
  content(at) {
    const own = at < 0 ? "" : this.nodes[at].text;
    return own + this.descendants(at).map((one) => this.nodes[one].text).join("");
  }
  number(value) {
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return value ? 1 : 0;
    const text = this.string(value).trim();
    return text === "" ? NaN : Number(text);
  }
  truth(value) {
    if (Array.isArray(value)) return value.length > 0;
    if (value?.values) return value.values.length > 0;
    return typeof value === "number" ? value !== 0 && !Number.isNaN(value) : Boolean(value);
  }
  items(value) {
    if (Array.isArray(value)) return value.map((at) => this.content(at));
    if (value?.values) return value.values;
    return [value];
  }
  compare(op, left, right) {
    return this.items(left).some((a) => this.items(right).some((b) => {
      if (typeof a === "boolean" || typeof b === "boolean") { a = this.truth(a); b = this.truth(b); }
      else if (typeof a === "number" || typeof b === "number") { a = this.number(a); b = this.number(b); }
      else { a = String(a).normalize("NFC"); b = String(b).normalize("NFC"); }
      switch (op) {
        case "=": return a === b;
        case "!=": return a !== b;
        case "<": return a < b;
        case "<=": return a <= b;
        case ">": return a > b;
        default: return a >= b;
      }
    }));
  }
  call(tree, context, traced) {
    const part = (place) => this.value(tree.parts[place], context, traced && tree.name !== "count");
    const text = (place) => tree.parts.length > place ? this.string(part(place)).normalize("NFC") : this.content(context.node);
    const numbers = () => this.items(part(0)).map((one) => this.number(one));
    switch (tree.name) {
      case "count": return this.items(this.value(tree.parts[0], context, traced)).length;
      case "not": return !this.truth(part(0));
      case "true": return true;
      case "false": return false;
      case "position": return context.position;
      case "last": return context.size;
      case "contains": return text(0).includes(text(1));
      case "starts-with": return text(0).startsWith(text(1));
      case "ends-with": return text(0).endsWith(text(1));
      case "string": return text(0);
      case "string-length": return [...text(0)].length;
      case "lower-case": return text(0).toLowerCase();
      case "upper-case": return text(0).toUpperCase();
      case "normalize-space": return text(0).trim().split(/\s+/).join(" ");
      case "number": return this.number(part(0));
      case "boolean": return this.truth(part(0));
      case "sum": return numbers().reduce((a, b) => a + b, 0);
      default:
        throw new QueryProblem(`this page does not know ${tree.name}(); the command line does`, tree.place);
    }
  }
}
