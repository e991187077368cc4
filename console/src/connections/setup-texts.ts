import type { ExampleFacts } from './example-facts.ts';

/**
 * What a program needs before its example runs. The packages are on no public registry, where others may have taken their names: they are installed
 * from a checkout of Coffer.
 */

const CHECKOUT = '# in a checkout of Coffer, beside your project: the package is on no public registry';

export const INSTALL_CLIENT = `${CHECKOUT}
npm ci && npm run build:packages
npm pack ./dist/packages/client --pack-destination ../my-project
cd ../my-project && npm install ./coffer-client-*.tgz
`;

export const INSTALL_COMMAND = `${CHECKOUT}
npm ci
export PATH="$PWD/node_modules/.bin:$PATH"
`;

export const INSTALL_PYTHON = `${CHECKOUT}
pip install ./clients/python
`;

export const INSTALL_GO = `# in your project, beside a checkout of Coffer: the package is on no public registry
go mod edit -require coffer.dev/go@v0.0.0 -replace coffer.dev/go=../coffer/clients/go
`;

/** A file with the credentials, as Node, Docker, systemd and shells read it. The secret itself is never in the console's text. */
export function environmentFile({ url, clientId, name, hasCertificate, hasOwnAuthority }: ExampleFacts): string {
  return [
    '# .env: only the program may read it; never commit it',
    `COFFER_URL=${url}`,
    `COFFER_CLIENT_ID=${clientId}`,
    'COFFER_CLIENT_SECRET=',
    ...(hasCertificate ? [`COFFER_CERT_FILE=${name}.crt`, `COFFER_KEY_FILE=${name}.key`] : []),
    ...(hasCertificate && hasOwnAuthority ? [`COFFER_CA_FILE=${name}-ca.pem`] : []),
    '',
  ].join('\n');
}
