import { generateKeyPairSync } from 'node:crypto';
import type { JsonSchema } from '../../server/src/features/reference/openapi.ts';
import type { Random } from '../support/random.ts';
import { nameMark, newValue, type Side } from './marks.ts';
import { named, type Pool, type Sighting, sourcesOfField, valueIn } from './pool.ts';

/** Fields whose content is nobody else's business: they carry a mark that must not come out where it does not belong. */
const SECRET_FIELDS = new Set(['value', 'password', 'new_password', 'plaintext', 'secrets', 'aad', 'message', 'query']);

/** Fields that mostly get something new: always, and where something is made. */
const ALWAYS_NEW = ['description', 'to_path', 'value', 'reason'];
const NEW_IN_THE_MAKING = ['name', 'email', 'path', 'owner_email', 'key_name', 'userName', 'displayName'];

export function isNew(field: string, isMaking: boolean): boolean {
  return ALWAYS_NEW.includes(field) || (isMaking && NEW_IN_THE_MAKING.includes(field));
}

/** What no schema can say: what texts of some fields mean. */
const MEANINGS: Record<string, readonly (string | number | boolean | object)[]> = {
  ip_allowlist: ['127.0.0.1', '127.0.0.0/8', '10.0.0.0/8', '::1/128'],
  ip_cidr: ['127.0.0.1/32', '10.0.0.0/8', '2001:db8::/32'],
  ip: ['127.0.0.1', '::1'],
  allowed_paths: ['db/*', 'a/b', '*'],
  actions: ['secrets:read', 'secrets:*', '*:list', 'vaults:read'],
  action: ['secrets:read', 'audit:read', '*', 'vaults:*'],
  resource: ['audit', 'vault/*', 'vault/x/**', 'policy/*'],
  scopes: ['secrets:read', 'eso:read', 'secrets:*'],
  tag_equals: ['team=a'],
  subject_pattern: ['repo:acme/app:ref:refs/heads/main', 'project_path:acme/*:ref_type:branch:ref:main'],
  issuer: ['https://issuer.example'],
  jwks_url: ['https://issuer.example/keys'],
  audience: ['coffer'],
  dotenv: ['FIRST=one\nSECOND="two"\n', '# nothing\n'],
  key: ['MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='],
  document: ['hEShATgioFkBAA=='],
  nonce: ['bm9uY2U='],
  otp: ['123456'],
  op: ['add', 'replace', 'Remove'],
  type: ['generic', 'password', 'api_key', 'token', 'json', 'ssh_key', 'database'],
};

const SHORT_LIST_MAX = 3;
/** What the configuration of a kind of method looks like. */
const CONFIGS: Record<string, object> = {
  spiffe: {
    trust_domain: 'prod.example',
    trust_bundle_pem: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
      format: 'pem',
      type: 'spki',
    }),
    expected_audience: 'coffer',
    allowed_spiffe_ids: ['spiffe://prod\\.example/shop'],
  },
  oidc_generic: { expected_issuer: 'https://issuer.invalid', expected_audience: 'coffer', allowed_subjects: ['a.*'] },
  aws_iam: { allowed_arns: ['arn:aws:iam::123456789012:role/x'] },
  gcp_iam: { expected_audience: 'coffer', allowed_emails: ['a@example.com'] },
  azure_msi: {
    expected_audience: 'coffer',
    allowed_object_ids: ['00000000-0000-4000-8000-000000000000'],
    tenant_id: '00000000-0000-4000-8000-000000000000',
  },
};

/** How much of what may be left out is there: much of it at once seldom fits together. */
const OPTIONAL_CHANCES = [0, 0, 0.15, 0.5];
const TEXT_LENGTH_MAX = 24;
const MARK_LETTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Makes what a schema allows, of what is there wherever that can be told. */
export class Values {
  readonly #random: Random;
  readonly #pool: Pool;
  readonly #side: Side;
  readonly #base: Sighting;
  readonly #isMaking: boolean;
  readonly #optional: number;

  constructor(random: Random, pool: Pool, side: Side, base: Sighting, isMaking: boolean) {
    this.#random = random;
    this.#pool = pool;
    this.#side = side;
    this.#base = base;
    this.#isMaking = isMaking;
    this.#optional = random.pick(OPTIONAL_CHANCES);
  }

  of(schema: JsonSchema, field: string): unknown {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) {
      const seen = named(this.#base, field);
      return schema.enum.includes(seen) && this.#random.chance(0.8) ? seen : this.#random.pick(schema.enum);
    }
    const known = this.#known(schema, field);
    if (known !== null) return known;
    if (schema.anyOf !== undefined) return this.of(this.#random.pick(schema.anyOf), field);
    switch (schema.type) {
      case 'object':
        return this.#object(schema, field);
      case 'array':
        return this.#array(schema, field);
      case 'integer':
        return this.#integer(schema);
      case 'number':
        return this.#random.integer(0, 1000) / 8;
      case 'boolean':
        return this.#random.chance(0.5);
      case 'null':
        return null;
      default:
        return this.text(schema, field);
    }
  }

  /** What was seen, or what texts by this name mean, if the schema takes it. */
  #known(schema: JsonSchema, field: string): unknown {
    const meanings = named(MEANINGS, field);
    const isLeaf = schema.type === 'string' || schema.type === 'integer';
    if (isLeaf && this.#random.chance(isNew(field, this.#isMaking) ? 0.1 : 0.8)) {
      const seen = valueIn(this.#base, sourcesOfField(field)) ?? this.#pool.any(field);
      const typed = schema.type === 'integer' ? asInteger(seen) : seen === null ? null : String(seen);
      if (typed !== null && isAllowed(schema, String(typed))) return typed;
    }
    if (meanings === undefined || !this.#random.chance(0.85)) return null;
    const fitting = meanings.filter((one) => typeof one === schema.type);
    return fitting.length === 0 ? null : this.#random.pick(fitting);
  }

  text(schema: JsonSchema, field: string): string {
    const { pattern, minLength = 0, maxLength = TEXT_LENGTH_MAX } = schema;
    if (schema.format === 'date-time') return new Date(1_750_000_000_000 + this.#random.integer(0, 1e11)).toISOString();
    const made = SECRET_FIELDS.has(field) ? newValue() : this.#name(field);
    if (isAllowed(schema, made) && (SECRET_FIELDS.has(field) || this.#random.chance(0.8))) return made;
    if (pattern !== undefined) {
      for (let tries = 0; tries < 5; tries++) {
        const matching = this.#random.matching(pattern);
        if (isAllowed(schema, matching)) return matching;
      }
    }
    return this.#random.text(MARK_LETTERS, Math.max(minLength, Math.min(maxLength, TEXT_LENGTH_MAX)));
  }

  #name(field: string): string {
    const mark = nameMark(this.#side, this.#random.text(MARK_LETTERS, 7));
    if (field.endsWith('email') || field === 'userName') return `${mark}@example.com`;
    if (field === 'path' || field === 'to_path') return this.#random.chance(0.5) ? mark : `db/${mark}/main`;
    return mark;
  }

  #object(schema: JsonSchema, field: string): Record<string, unknown> {
    const made: Record<string, unknown> = {};
    const required = new Set(schema.required ?? []);
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const known = named(this.#base, name) !== undefined && !isNew(name, this.#isMaking) ? 0.6 : 0;
      const chance = Math.max(known, isTelling(name) ? 0.5 : 0, this.#optional);
      if (required.has(name) || this.#random.chance(chance)) made[name] = this.of(inner, name);
    }
    const config = named(CONFIGS, String(made['type']));
    if (config !== undefined && made['config'] !== undefined && this.#random.chance(0.8)) made['config'] = config;
    if (typeof schema.additionalProperties === 'object') {
      const pattern = schema.propertyNames?.pattern;
      const name = pattern === undefined ? this.#name('path') : this.#random.matching(pattern);
      made[name] = this.of(schema.additionalProperties, field === 'secrets' ? 'value' : field);
    }
    return made;
  }

  #array({ items = {}, minItems = 0, maxItems = SHORT_LIST_MAX, uniqueItems }: JsonSchema, field: string): unknown[] {
    const length = this.#random.integer(minItems, Math.max(minItems, Math.min(maxItems, SHORT_LIST_MAX)));
    const made = Array.from({ length }, () => this.of(items, field));
    return uniqueItems === true ? [...new Map(made.map((one) => [JSON.stringify(one), one])).values()] : made;
  }

  #integer({ minimum = 0, maximum = 2 ** 31 }: JsonSchema): number {
    if (this.#random.chance(0.1)) return this.#random.pick([minimum, maximum]);
    return this.#random.integer(minimum, Math.min(maximum, minimum + 100));
  }
}

function isAllowed(
  { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: JsonSchema,
  text: string,
): boolean {
  if (text.length < minLength || text.length > maxLength) return false;
  return pattern === undefined || new RegExp(pattern, 'u').test(text);
}

/** Whether a field says what a request is about: few requests mean much without. */
function isTelling(name: string): boolean {
  return (
    name === 'value' ||
    name === 'secrets' ||
    (sourcesOfField(name).length > 1 && !/version|prefix|pem|cursor/.test(name))
  );
}

function asInteger(value: string | number | null): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : null;
}
