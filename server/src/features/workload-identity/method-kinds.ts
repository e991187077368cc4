import type { MethodType } from './contract.ts';
import { awsIam } from './methods/aws-iam.ts';
import { azureMsi } from './methods/azure-msi.ts';
import { gcpIam } from './methods/gcp-iam.ts';
import { k8sSa } from './methods/k8s-sa.ts';
import type { MethodKind } from './methods/method.ts';
import { oidcGeneric } from './methods/oidc-generic.ts';
import { spiffe } from './methods/spiffe.ts';

/** Each kind has its own config type; everywhere else a config is a record that passed the kind's schema. */
type AnyKind = MethodKind<Record<string, unknown>>;

const KINDS: Readonly<Record<MethodType, AnyKind>> = {
  k8s_sa: k8sSa as unknown as AnyKind,
  aws_iam: awsIam as unknown as AnyKind,
  gcp_iam: gcpIam as unknown as AnyKind,
  azure_msi: azureMsi as unknown as AnyKind,
  oidc_generic: oidcGeneric as unknown as AnyKind,
  spiffe: spiffe as unknown as AnyKind,
};

export function kindOf(type: MethodType): AnyKind {
  return KINDS[type];
}
