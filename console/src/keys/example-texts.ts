import type { Example } from '../ui/example.ts';

/** How a program encrypts with a key of the service. */
export function keyExamples(url: string, name: string): Example[] {
  return [
    {
      title: 'curl',
      code: `printf '{"plaintext": "4111 1111 1111 1111"}' |
  curl -sS --fail-with-body -K auth.conf \\
    -H 'Content-Type: application/json' -d @- \\
    '${url}/eaas/keys/${name}/encrypt'
# auth.conf: header = "Authorization: Bearer …", readable by nobody else
`,
    },
    {
      title: 'Node.js',
      code: `import { Coffer } from '@coffer/client';

const coffer = new Coffer({ url: '${url}', auth: { token: process.env.COFFER_TOKEN } });
const envelope = await coffer.encrypt('${name}', '4111 1111 1111 1111');
const text = await coffer.decrypt('${name}', envelope);
`,
    },
  ];
}
