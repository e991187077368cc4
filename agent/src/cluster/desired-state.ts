import { createHash } from 'node:crypto';

export interface DesiredSecret {
  namespace: string;
  name: string;
  type: string;
  data: Record<string, string>;
  checksum: string;
}

export interface WithheldSecret {
  namespace: string;
  name: string;
  reason: string;
}

export interface DesiredState {
  cluster_id: string;
  generation: number;
  secrets: DesiredSecret[];
  withheld: WithheldSecret[];
  checksum: string;
}

/** An answer that is not what the service meant to say. Nothing is applied or deleted because of it. */
export class DoubtfulStateError extends Error {
  constructor(what: string) {
    super(`the desired state was not used: ${what}`);
  }
}

const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const TYPE = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?$/;
const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/** Checks everything, the checksums last, before any of it is used. */
export function checkedState(body: Buffer, clusterId: string, lastGeneration: number): DesiredState {
  const state = parse(body);
  if (state.cluster_id !== clusterId) throw new DoubtfulStateError('it is of another cluster');
  if (!Number.isSafeInteger(state.generation) || state.generation < lastGeneration) {
    throw new DoubtfulStateError('its generation is older than the last one');
  }
  const names = [...state.secrets, ...state.withheld].map(keyOf);
  if (new Set(names).size !== names.length) throw new DoubtfulStateError('it names a Secret twice');
  for (const secret of state.secrets) {
    if (checksumOf(secret) !== secret.checksum) throw new DoubtfulStateError('the checksum of a Secret is wrong');
  }
  if (stateChecksum(state) !== state.checksum) throw new DoubtfulStateError('its checksum is wrong');
  return state;
}

export function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

/** The form is part of the interface of the service. */
export function checksumOf({ namespace, name, type, data }: Omit<DesiredSecret, 'checksum'>): string {
  return hex([namespace, name, type, Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

export function stateChecksum({ cluster_id, generation, secrets, withheld }: Omit<DesiredState, 'checksum'>): string {
  const parts = withheld.map(({ namespace, name, reason }) => [namespace, name, reason]);
  return hex([cluster_id, generation, secrets.map(({ checksum }) => checksum), parts]);
}

function hex(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function parse(body: Buffer): DesiredState {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new DoubtfulStateError('it is no JSON');
  }
  const state = value as DesiredState | null;
  const isWhole =
    typeof state === 'object' &&
    state !== null &&
    Array.isArray(state.secrets) &&
    Array.isArray(state.withheld) &&
    state.secrets.every(isSecret) &&
    state.withheld.every((one) => hasName(one) && typeof one.reason === 'string');
  if (!isWhole) throw new DoubtfulStateError('it has another form than expected');
  return state;
}

function isSecret(secret: DesiredSecret): boolean {
  return (
    hasName(secret) &&
    typeof secret.type === 'string' &&
    TYPE.test(secret.type) &&
    typeof secret.data === 'object' &&
    secret.data !== null &&
    Object.entries(secret.data).every(([key, text]) => KEY.test(key) && isBase64(text))
  );
}

function hasName(one: { namespace: string; name: string } | null): one is { namespace: string; name: string } {
  return (
    typeof one?.namespace === 'string' &&
    typeof one.name === 'string' &&
    NAMESPACE.test(one.namespace) &&
    NAME.test(one.name)
  );
}

function isBase64(text: unknown): boolean {
  return typeof text === 'string' && Buffer.from(text, 'base64').toString('base64') === text;
}
