/** Where the time of a profile went. Times are in microseconds. */
export interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}

export interface CpuProfile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  startTime: number;
  endTime: number;
  samples: number[];
  timeDeltas: number[];
}

/** A function as it was called from the one above it. */
export interface Frame {
  name: string;
  location: string;
  group: string;
  self: number;
  /** With everything it called. */
  total: number;
  children: Frame[];
}

const IDLE = '(idle)';
/** Names that V8 gives to what is no function. */
const STATES: Record<string, string> = {
  [IDLE]: 'idle',
  '(garbage collector)': 'garbage collector',
  '(program)': 'native, outside any function',
};

/** The calls as a tree, each with its time; the root's total is all of the time. */
export function frameTree({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const selfOf = new Map<number, number>();
  // A delta is the time since the sample before, so it belongs to that one.
  for (const [i, id] of samples.entries()) selfOf.set(id, (selfOf.get(id) ?? 0) + Math.max(0, timeDeltas[i + 1] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const build = (id: number, parentGroup: string): Frame => {
    const node = byId.get(id);
    if (node === undefined) throw new Error(`the profile has no node ${id}`);
    const { functionName, url, lineNumber } = node.callFrame;
    const group = groupOf(node.callFrame, parentGroup);
    const children = (node.children ?? []).map((child) => build(child, group));
    const self = selfOf.get(id) ?? 0;
    const total = children.reduce((sum, child) => sum + child.total, self);
    return { name: functionName || '(anonymous)', location: locationOf(url, lineNumber), group, self, total, children };
  };
  return build(nodes[0]?.id ?? 0, '');
}

/** The tree without the time in which there was nothing to do. */
export function busyTree(root: Frame): Frame {
  const children = root.children.filter(({ name }) => name !== IDLE);
  return { ...root, children, total: children.reduce((sum, { total }) => sum + total, root.self) };
}

export interface Times {
  name: string;
  self: number;
  inclusive: number;
}

/** By function, most time of its own first; a function counts once in its inclusive time however deep it calls itself. */
export function timesByFunction(root: Frame): Times[] {
  return timesBy(root, ({ name, location }) => (location === '' ? name : `${name} (${location})`));
}

export function timesByGroup(root: Frame): Times[] {
  return timesBy(root, ({ group }) => group);
}

function timesBy(root: Frame, keyOf: (frame: Frame) => string): Times[] {
  const found = new Map<string, Times>();
  const above = new Set<string>();
  const visit = (frame: Frame) => {
    const name = keyOf(frame);
    const times = found.get(name) ?? { name, self: 0, inclusive: 0 };
    found.set(name, times);
    times.self += frame.self;
    const isOutermost = !above.has(name);
    if (isOutermost) {
      times.inclusive += frame.total;
      above.add(name);
    }
    for (const child of frame.children) visit(child);
    if (isOutermost) above.delete(name);
  };
  for (const child of root.children) visit(child);
  return [...found.values()].sort((a, b) => b.self - a.self);
}

/** Which folder of the service, package or part of Node a function is of. What is native belongs to its caller. */
export function groupOf({ functionName, url }: CallFrame, parentGroup: string): string {
  if (url === '') return STATES[functionName] ?? nativeGroup(parentGroup);
  if (url.startsWith('node:')) return nodeGroup(url);
  const ours = /\/server\/src\/(.+)$/.exec(url)?.[1];
  if (ours !== undefined) {
    const parts = ours.split('/');
    return parts.slice(0, Math.min(2, parts.length - 1)).join('/') || 'server/src';
  }
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'other';
}

function nativeGroup(parentGroup: string): string {
  if (parentGroup === '' || parentGroup.endsWith(' (native)')) return parentGroup || 'native';
  return `${parentGroup} (native)`;
}

function nodeGroup(url: string): string {
  const name = url.replace(/^node:(internal\/)?/, '');
  if (/^_?http/.test(name)) return 'node:http';
  if (/^(net|stream_base_commons|dns)/.test(name)) return 'node:net';
  if (/^(_?tls|_tls_)/.test(name)) return 'node:tls';
  if (/^(_stream|streams?\b)/.test(name)) return 'node:stream';
  if (/^(process\/|async_hooks|timers|async_context|async_local)/.test(name)) return 'node: tasks and timers';
  return `node:${name.split('/')[0]}`;
}

function locationOf(url: string, line: number): string {
  if (url === '') return '';
  const short = url.replace(/^.*\/node_modules\//, '').replace(/^.*\/server\/src\//, '');
  return `${short}:${line + 1}`;
}
