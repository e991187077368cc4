import { CredentialText } from '../../kernel/crypto/credential-text.ts';

export const CLUSTER_TOKEN = new CredentialText('cv_cluster_');
