import { ERROR_CODES, type ErrorCode, INCOMPLETE_REQUEST_ERRORS } from '../../kernel/base/errors.ts';
import { CREDENTIAL_NAMES, type EndpointDeclaration, errorCodes, NONE } from '../../kernel/endpoint/declaration.ts';
import { PLAN_QUOTAS, QUOTAS } from '../../kernel/limits/plan-quotas.ts';
import { PLANS } from '../../kernel/limits/rate-classes.ts';

const GENERATED = 'Generated from the code by `npm run generate`; do not edit.';

/** docs/generated/endpoints.md */
export function endpointsMarkdown(declarations: readonly EndpointDeclaration[]): string {
  const common = commonCodes(declarations);
  const lines = ['# Endpoints', '', GENERATED, ''];
  lines.push('Every path also works with `/v1` added or removed.', '');
  if (common.length > 0) lines.push(`Every endpoint can respond with ${common.map(code).join(', ')}.`, '');
  for (const [noun, endpoints] of Map.groupBy(declarations, (e) => e.noun)) {
    const rows = endpoints.map((e) => endpointRow(e, common));
    lines.push(`## ${cell(noun)}`, '', ...table(ENDPOINT_COLUMNS, rows), '');
  }
  return lines.join('\n');
}

/** docs/generated/errors.md */
export function errorsMarkdown(): string {
  const rows = Object.entries(ERROR_CODES).map(([name, [status, meaning]]) => [code(name), String(status), meaning]);
  const shape = 'Every error is `{"error": {"code", "message", "request_id", "details"?}}`. Base decisions on `code`.';
  return [
    '# Error codes',
    '',
    GENERATED,
    '',
    shape,
    '',
    INCOMPLETE_REQUEST_ERRORS,
    '',
    ...table(['Code', 'HTTP', 'Meaning'], rows),
    '',
  ].join('\n');
}

export function quotasMarkdown(): string {
  const meaning =
    'How many of each a tenant may have, by plan, unless the operator sets other limits with `PUT /admin/plans/{plan}`. Beyond that, a create is refused with `QUOTA_EXCEEDED`; existing objects stay and keep working, also after a change to a smaller plan.';
  const rows = QUOTAS.map(({ name, what }) => [
    code(name),
    what,
    ...PLANS.map((plan) => limitText(PLAN_QUOTAS[plan][name])),
  ]);
  return ['# Quotas', '', GENERATED, '', meaning, '', ...table(['Quota', 'Counts', ...PLANS], rows), ''].join('\n');
}

function limitText(limit: number): string {
  return limit === Infinity ? 'no limit' : limit.toLocaleString('en-US');
}

/** Describes who may call an endpoint. Names of permissions and resources are in backticks. */
export function whoMayCall(e: EndpointDeclaration): string {
  const permission = requiredPermission(e);
  return permission === null ? callers(e) : `${callers(e)} with ${permission}`;
}

/** Describes the accepted credentials and whose they must be. */
export function callers(e: EndpointDeclaration): string {
  if (e.credentials === 'public') return 'anyone, without a credential';
  const credentials = e.credentials.map((kind) => CREDENTIAL_NAMES[kind]).join(' or ');
  return `any ${credentials}${e.tenant === 'operator' ? ' of the operator tenant' : ''}`;
}

/** The permission with its resource, which is described in words if it is only known once it is loaded. */
export function requiredPermission(e: EndpointDeclaration): string | null {
  if (e.permission === NONE) return null;
  return `${code(e.permission)} on ${e.resource === 'loaded' ? 'the requested resource' : code(e.resource)}`;
}

const ENDPOINT_COLUMNS = ['Method', 'Path', 'Who may call', 'Rate', 'Audit', 'Effect', 'Errors'];

function endpointRow(e: EndpointDeclaration, common: readonly ErrorCode[]): string[] {
  const codes = errorCodes(e).filter((each) => !common.includes(each));
  const audit = e.audit === NONE ? NONE : code(e.audit);
  const tier = e.tier === NONE ? '' : `; ${e.tier} plan`;
  const who = `${whoMayCall(e)}${tier}`;
  const effect = e.approval === NONE ? e.effect : `${e.effect}; may require approval (${code(e.approval)})`;
  return [e.method, code(e.path), who, e.rate, audit, effect, codes.map(code).join(', ')];
}

/** Listed once above the tables instead of in every row. */
function commonCodes(declarations: readonly EndpointDeclaration[]): ErrorCode[] {
  const sets = declarations.map((e) => new Set(errorCodes(e)));
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter((each) => sets.length > 0 && sets.every((s) => s.has(each)));
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(columns), `|${'---|'.repeat(columns.length)}`, ...rows.map(line)];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}

function code(text: string): string {
  return `\`${text}\``;
}
