import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';

/**
 * Generates the types of the API from docs/generated/openapi.json; with `--check` it only reports a difference. The file is committed, so that using
 * the package needs no generator.
 */

const DOCUMENT = join(import.meta.dirname, '../docs/generated/openapi.json');
const SOURCES = join(import.meta.dirname, 'src');
const HEADER = '// Generated from docs/generated/openapi.json by `npm run generate`; do not edit.\n';
/** What the generator writes for responses and operations that declare none. */
const NO_HEADERS = /^ *headers: \{\n *\[name: string\]: unknown;\n *\};\n/gm;
const NO_PARAMETERS = /^ *(?:query|header|path|cookie|requestBody)\?: never;\n/gm;

interface Operation {
  operationId: string;
  responses: Record<string, { headers?: unknown }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, unknown> & { schemas: { ErrorCode: { enum: string[] } } };
}

/** Refusals have one form, whatever the endpoint, so only the responses of success are generated. */
function withoutRefusals(document: Document): Document {
  for (const operations of Object.values(document.paths)) {
    for (const { responses } of Object.values(operations)) {
      for (const status of Object.keys(responses)) {
        if (status.startsWith('2')) delete responses[status]?.headers;
        else delete responses[status];
      }
    }
  }
  const { schemas, parameters } = document.components;
  return { ...document, components: { schemas, ...(parameters !== undefined && { parameters }) } };
}

/** One line per endpoint instead of the nested `paths` of the generator, which is a third of its output. */
function routes(paths: Document['paths']): string {
  const lines = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { operationId }]) => `  '${method.toUpperCase()} ${path}': operations['${operationId}'];`,
    ),
  );
  return `export interface Routes {\n${lines.join('\n')}\n}\n`;
}

async function types(document: Document): Promise<string> {
  const nodes = await openapiTS(document as unknown as Parameters<typeof openapiTS>[0], { silent: true });
  const successful = nodes.filter((node) => {
    const { name } = node as unknown as { name: { text: string } };
    return name.text === 'components' || name.text === 'operations';
  });
  return `${HEADER}
${routes(document.paths)}
${astToString(successful).replaceAll(NO_HEADERS, '').replaceAll(NO_PARAMETERS, '')}`;
}

/** A file of its own: a program that runs loads it, and never the types. */
function errorCodes(document: Document): string {
  const codes = document.components.schemas.ErrorCode.enum.map((code) => `  '${code}',`);
  return `${HEADER}
/** What the service can refuse a request with. */
export const ERROR_CODES = [
${codes.join('\n')}
] as const;
`;
}

const document = withoutRefusals(JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Document);
const files = { 'openapi.ts': await types(document), 'error-codes.ts': errorCodes(document) };
for (const [name, text] of Object.entries(files)) {
  const file = join(SOURCES, name);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`client/src/${name} differs from what the document generates. Run: npm run generate`);
    process.exitCode = 1;
  }
}
