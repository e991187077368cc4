import type { RouteOutput } from '@coffer/client';
import type { workloadsTexts } from './texts.ts';

export type MethodItem = RouteOutput<'GET /workload-identity/methods/{method_id}'>;
export type MethodType = MethodItem['type'];

type FieldName = keyof typeof workloadsTexts.fields;
export interface ConfigField {
  readonly name: FieldName;
  /** `lines`: a list, one a line. `secret`: it is never shown again. */
  readonly kind: 'text' | 'lines' | 'pem' | 'secret';
  readonly isRequired: boolean;
}

const field = (name: FieldName, kind: ConfigField['kind'] = 'text', isRequired = true): ConfigField => ({
  name,
  kind,
  isRequired,
});
const optional = (name: FieldName, kind: ConfigField['kind'] = 'text') => field(name, kind, false);

/** What is asked for each type, in this order. */
export const CONFIG_FIELDS: Readonly<Record<MethodType, readonly ConfigField[]>> = {
  k8s_sa: [
    field('issuer'),
    field('ca_cert_pem', 'pem'),
    field('allowed_namespaces', 'lines'),
    field('allowed_sa_names', 'lines'),
    optional('api_server_url'),
    optional('token_reviewer_jwt', 'secret'),
  ],
  aws_iam: [field('allowed_arns', 'lines'), optional('sts_endpoint')],
  gcp_iam: [field('expected_audience'), field('allowed_emails', 'lines')],
  azure_msi: [field('expected_audience'), field('allowed_object_ids', 'lines'), optional('tenant_id')],
  oidc_generic: [field('expected_issuer'), field('expected_audience'), field('allowed_subjects', 'lines')],
  spiffe: [
    field('trust_domain'),
    field('trust_bundle_pem', 'pem'),
    field('expected_audience'),
    field('allowed_spiffe_ids', 'lines'),
  ],
};

/** The lists of a config that say who is let in. */
export function allowedBy({ type, config }: MethodItem): string[] {
  return CONFIG_FIELDS[type]
    .filter(({ kind }) => kind === 'lines')
    .map(({ name }) => ((config[name] ?? []) as string[]).join(', '));
}

/** A config as it is typed, by the names of its fields. */
export function typedConfig(config: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, Array.isArray(value) ? value.join('\n') : String(value)]),
  );
}

/**
 * The config of a request. Fields that this page does not ask for keep what they had; a secret that was not typed is left out, which keeps the
 * stored one.
 */
export function configOf(
  type: MethodType,
  typed: Readonly<Record<string, string>>,
  before: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const config: Record<string, unknown> = { ...before };
  for (const { name, kind } of CONFIG_FIELDS[type]) {
    const text = (typed[name] ?? '').trim();
    if (kind === 'lines') {
      config[name] = text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    } else if (text === '') delete config[name];
    else config[name] = kind === 'pem' ? `${text}\n` : text;
  }
  return config;
}
