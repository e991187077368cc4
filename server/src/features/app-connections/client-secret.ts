import { CredentialText } from '../../kernel/crypto/credential-text.ts';

export const CLIENT_SECRET = new CredentialText('Svc_');
