import type { Example } from '../ui/example.ts';
import type { ExampleFacts, SecretPlace } from './example-facts.ts';
import { goCode } from './go-example.ts';
import { INSTALL_CLIENT, INSTALL_COMMAND, INSTALL_GO, INSTALL_PYTHON } from './setup-texts.ts';

/** Only the code to copy uses it: the console runs in browsers. */
const FILES_OF_NODE = 'node:fs';

/** How a program reads a secret, or all of its secrets, with its connection. */
export function connectionExamples(facts: ExampleFacts): Example[] {
  const client = { title: 'Node.js', code: clientCode(facts), install: INSTALL_CLIENT };
  // Only this library makes DPoP proofs.
  if (facts.hasDpop) return [client];
  return [
    { title: 'curl', code: curlCode(facts) },
    { title: 'coffer', code: commandCode(facts), install: INSTALL_COMMAND },
    client,
    // With a certificate it uses the standard library alone.
    { title: 'Python', code: pythonCode(facts), ...(!facts.hasCertificate && { install: INSTALL_PYTHON }) },
    { title: 'Go', code: goCode(facts), install: INSTALL_GO },
  ];
}

/** The path of a secret below the address of the service. */
function pathOf({ vault, path }: SecretPlace): string {
  return `/v1/vaults/${vault}/secrets/${path.split('/').map(encodeURIComponent).join('/')}`;
}

function quoted(names: readonly string[], quote: string): string {
  return names.map((name) => `${quote}${name}${quote}`).join(', ');
}

function curlCode({ url, clientId, name, reads, hasCertificate, hasOwnAuthority }: ExampleFacts): string {
  const trusted = hasOwnAuthority ? ` --cacert ${name}-ca.pem` : '';
  const shown = hasCertificate ? ` --cert ${name}.crt --key ${name}.key${trusted}` : '';
  const request = (address: string, indent: string) =>
    [
      `printf 'X-Client-Id: %s\\nX-Client-Secret: %s\\n' \\`,
      `  "$COFFER_CLIENT_ID" "$COFFER_CLIENT_SECRET" |`,
      `  curl -sS --fail-with-body -H @-${shown} \\`,
      `    ${address}`,
    ]
      .map((line) => `${indent}${line}\n`)
      .join('');
  const first = `COFFER_CLIENT_ID=${clientId}\n`;
  if ('path' in reads) return first + request(`'${url}${pathOf(reads)}'`, '');
  return `${first}for vault in ${reads.vaults.join(' ')}; do\n${request(`"${url}/v1/vaults/$vault/aggregate"`, '  ')}done\n`;
}

/** A program that is started by `coffer run` has the values in its environment, and not the credentials of the connection. */
function commandCode({ url, clientId, name, reads, hasCertificate, hasOwnAuthority }: ExampleFacts): string {
  return [
    '# COFFER_CLIENT_SECRET is in the environment already',
    `export COFFER_URL=${url}`,
    `export COFFER_CLIENT_ID=${clientId}`,
    ...(hasCertificate ? [`export COFFER_CERT_FILE=${name}.crt COFFER_KEY_FILE=${name}.key`] : []),
    ...(hasCertificate && hasOwnAuthority ? [`export COFFER_CA_FILE=${name}-ca.pem`] : []),
    'path' in reads ? `VALUE=$(coffer secrets get ${reads.path} --vault ${reads.vault})` : runCode(reads),
    '',
  ].join('\n');
}

/** Secrets of the first vault are variables by themselves, if they are named; those of the others are references. */
function runCode({ vaults: [first = ''], secrets }: Exclude<ExampleFacts['reads'], SecretPlace>): string {
  const references = secrets
    .filter(({ vault }) => vault !== first)
    .map(({ vault, path }) => `${variableOf(`${vault}/${path}`)}=coffer://${vault}/${path} \\\n`);
  const names = secrets.filter(({ vault }) => vault === first).map(({ path }) => variableOf(path));
  const only = names.length === 0 ? '--all' : `--only ${names.join(',')}`;
  return `${references.join('')}coffer run --vault ${first} ${only} -- ./your-program`;
}

function variableOf(path: string): string {
  return path
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=[0-9])/, '_');
}

function clientCode(facts: ExampleFacts): string {
  const { url, clientId, name, reads, hasCertificate, hasOwnAuthority, hasDpop } = facts;
  const fromNode = [hasDpop ? 'dpopKeyFromFile' : '', hasCertificate ? 'identityFromFiles, nodeTransport' : '']
    .filter(Boolean)
    .join(', ');
  const lines = [
    ...(hasCertificate && hasOwnAuthority ? [`import { readFileSync } from '${FILES_OF_NODE}';`] : []),
    `import { Coffer } from '@coffer/client';`,
    ...(fromNode === '' ? [] : [`import { ${fromNode} } from '@coffer/client/node';`]),
    '',
    'const coffer = new Coffer({',
    `  url: '${url}',`,
    '  auth: {',
    `    clientId: '${clientId}',`,
    '    clientSecret: process.env.COFFER_CLIENT_SECRET,',
    ...(hasDpop ? [`    dpop: await dpopKeyFromFile('${name}.dpop.pem'),`] : []),
    '  },',
    ...(hasCertificate
      ? [
          '  transport: nodeTransport({',
          ...(hasOwnAuthority ? [`    ca: readFileSync('${name}-ca.pem', 'utf8'),`] : []),
          `    identity: identityFromFiles({ certFile: '${name}.crt', keyFile: '${name}.key' }),`,
          '  }),',
        ]
      : []),
    '});',
    ...('path' in reads
      ? [`const { value } = await coffer.secrets.get('${reads.vault}', '${reads.path}');`]
      : [
          'const values = new Map();',
          `for (const vault of [${quoted(reads.vaults, "'")}]) {`,
          '  for (const secret of await coffer.secrets.getAll(vault)) {',
          "    values.set(vault + '/' + secret.path, secret.value);",
          '  }',
          '}',
        ]),
    '',
  ];
  return lines.join('\n');
}

function pythonCode(facts: ExampleFacts): string {
  return facts.hasCertificate ? pythonWithCertificate(facts) : pythonWithClient(facts);
}

function pythonWithClient({ url, clientId, reads }: ExampleFacts): string {
  const read =
    'path' in reads
      ? `    value = coffer.secrets.get("${reads.vault}", "${reads.path}").value\n`
      : `    values = {
        f"{vault}/{each.path}": coffer.secrets.get(vault, each.path).value
        for vault in [${quoted(reads.vaults, '"')}]
        for each in coffer.secrets.list(vault)
    }\n`;
  return `import os
from coffer import Coffer

with Coffer(
    "${url}",
    client_id="${clientId}",
    client_secret=os.environ["COFFER_CLIENT_SECRET"],
) as coffer:
${read}`;
}

/** The library for Python shows no certificate of its own, but the standard library does. */
function pythonWithCertificate({ url, clientId, name, reads, hasOwnAuthority }: ExampleFacts): string {
  const read =
    'path' in reads
      ? `value = read("${pathOf(reads)}")["value"]\n`
      : `values = {}
for vault in [${quoted(reads.vaults, '"')}]:
    for each in read(f"/v1/vaults/{vault}/aggregate")["secrets"]:
        values[f"{vault}/{each['path']}"] = each["value"]
`;
  return `import json, os, ssl, urllib.request

context = ssl.create_default_context(${hasOwnAuthority ? `cafile="${name}-ca.pem"` : ''})
context.load_cert_chain("${name}.crt", "${name}.key")

def read(path):
    request = urllib.request.Request(
        "${url}" + path,
        headers={
            "X-Client-Id": "${clientId}",
            "X-Client-Secret": os.environ["COFFER_CLIENT_SECRET"],
        },
    )
    with urllib.request.urlopen(request, context=context) as answer:
        return json.load(answer)

${read}`;
}
