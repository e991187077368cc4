import type { JsonSchema } from './openapi.ts';

/** Matches what `idPattern` generates. */
export const ID_PATTERN = /^\^([a-z]+_)\[[0-9a-z]+\]\{\d+\}\$$/;

/** One row of a table of fields. Backticks in the texts mark code. */
export interface Field {
  name: string;
  type: string;
  isRequired: boolean;
  constraints: readonly string[];
  description: string;
}

/** The fields of an object, each followed by its nested fields: `scope.vaults`, `versions[].author`. */
export function fieldsOf(schema: JsonSchema): Field[] {
  return collect(schema, '');
}

function collect(schema: JsonSchema, prefix: string): Field[] {
  const found = new Map<string, Field>();
  for (const variant of objectsIn(schema)) {
    for (const [key, inner] of Object.entries(variant.properties ?? {})) {
      const name = `${prefix}${key}`;
      const isRequired = (variant.required ?? []).includes(key);
      if (!found.has(name)) found.set(name, row(name, inner, isRequired));
      const below = listItem(inner);
      const nested = below === null ? collect(inner, `${name}.`) : collect(below, `${name}[].`);
      for (const field of nested) if (!found.has(field.name)) found.set(field.name, field);
    }
  }
  return [...found.values()];
}

function row(name: string, schema: JsonSchema, isRequired: boolean): Field {
  return {
    name,
    type: typeName(schema),
    isRequired,
    constraints: constraints(schema),
    description: schema.description ?? '',
  };
}

function objectsIn(schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(objectsIn);
}

function listItem(schema: JsonSchema): JsonSchema | null {
  return objectsIn(schema).find((variant) => variant.items !== undefined)?.items ?? null;
}

export function typeName(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeName))].join(' or ');
  if (schema.items !== undefined) return `array of ${typeName(schema.items)}`;
  const valueSchema = mapValue(schema);
  if (valueSchema !== null) return `map of ${typeName(valueSchema)}`;
  if (schema.type !== undefined) return schema.format === undefined ? schema.type : `${schema.type} (${schema.format})`;
  const sample = schema.const ?? schema.enum?.[0];
  return sample === undefined ? 'any' : typeof sample;
}

/** The value schema of an object with arbitrary keys. */
export function mapValue(schema: JsonSchema): JsonSchema | null {
  const [byPattern] = Object.values(schema.patternProperties ?? {});
  if (byPattern !== undefined) return byPattern;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null;
}

function constraints(schema: JsonSchema): string[] {
  const said: string[] = [];
  const choices = allowedValues(schema);
  if (choices.length > 0) said.push(`${choices.length === 1 ? 'is' : 'one of'} ${choices.map(code).join(', ')}`);
  for (const variant of objectsIn(schema)) said.push(...bounds(variant));
  if (schema.items !== undefined) said.push(...constraints(schema.items).map((each) => `each: ${each}`));
  if (schema.default !== undefined) said.push(`default ${code(schema.default)}`);
  return said;
}

function allowedValues(schema: JsonSchema): readonly unknown[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(allowedValues);
  return schema.const === undefined ? (schema.enum ?? []) : [schema.const];
}

function bounds(schema: JsonSchema): string[] {
  const said: string[] = [];
  const add = (text: string | null) => text !== null && said.push(text);
  add(range(schema.minLength, schema.maxLength, 'character'));
  add(range(schema.minimum, schema.maximum, ''));
  add(range(schema.minItems, schema.maxItems, 'item'));
  if (schema.uniqueItems === true) said.push('no item twice');
  add(form(schema));
  return said;
}

/** For an id only its prefix is shown, because its alphabet says nothing; for other patterns a description says more than the expression. */
function form({ pattern, description }: JsonSchema): string | null {
  if (pattern === undefined) return null;
  const idPrefix = ID_PATTERN.exec(pattern)?.[1];
  if (idPrefix !== undefined) return `starts with ${code(idPrefix)}`;
  return description === undefined ? `matches ${code(pattern)}` : null;
}

function range(low: number | undefined, high: number | undefined, unit: string): string | null {
  if (low === undefined && high === undefined) return null;
  const number = low === high ? figure(low) : high === undefined ? `at least ${figure(low)}` : upTo(low, high);
  const isOne = (high ?? low) === 1;
  return unit === '' ? number : `${number} ${unit}${isOne ? '' : 's'}`;
}

function upTo(low: number | undefined, high: number): string {
  return low === undefined ? `at most ${figure(high)}` : `${figure(low)} to ${figure(high)}`;
}

function figure(number: number | undefined): string {
  return (number ?? 0).toLocaleString('en-US');
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
