import { closeSync, openSync, readSync } from 'node:fs';
import type { Command } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { action } from '../declared.ts';
import { CommandError } from '../failure.ts';

export function register(program: Command): void {
  const attest = program.command('attest').description('Verify what an enclave says about itself');
  action(attest, {
    usage: 'nonce',
    summary: 'Get a nonce for the enclave to put into its document',
    route: 'POST /attestation/nonce',
    shows: ({ nonce }) => nonce,
    says: ({ expires_at }) => `It is good for one verification, until ${expires_at}.`,
  });
  action(attest, {
    usage: 'verify <file>',
    summary: 'Verify a document, and what it must say',
    route: 'POST /attestation/verify',
    arguments: [{ to: 'body/document', translate: documentIn }],
    options: [
      {
        flags: '--format <format>',
        description: 'aws-nitro-cose-sign1 (unless given), sgx-dcap-quote-v3 or amd-sev-snp-report',
        to: 'body/format',
      },
      {
        flags: '--nonce <nonce>',
        description: 'which must be in it: that of attest nonce, or your own',
        to: 'body/nonce',
      },
      {
        flags: '--measurement <name=digest>',
        description: 'a measurement that it must have, such as pcr0=…',
        to: 'body/expected/measurements',
        kind: 'pairs',
      },
      { flags: '--user-data <data>', description: 'its user data, in base64', to: 'body/expected/user_data' },
      {
        flags: '--expected <file>',
        description: 'a file with measurements, user_data and claims as JSON, or - for standard input',
        to: 'body/expected',
        kind: 'json',
      },
    ],
    shows: ({ measurements, warnings }) =>
      [
        ...Object.entries(measurements).map(([name, digest]) => `${name}  ${digest}`),
        ...warnings.map((warning) => `warning  ${warning}`),
      ].join('\n'),
    failure: ({ verified, warnings }) => (verified ? null : ['The document is not verified.', ...warnings].join('\n')),
    says: () => 'The document is verified.',
    help: 'The document may be binary or base64. The command ends with 3 if it is not verified.',
  });
}

/** As much as the service accepts, in base64 with line breaks. */
const DOCUMENT_BYTES_MAX = 64 * 1024;

async function documentIn(_: Coffer, file: string): Promise<string> {
  const bytes = readStart(file === '-' ? 0 : file, DOCUMENT_BYTES_MAX + 1);
  if (bytes.length > DOCUMENT_BYTES_MAX) throw new CommandError(`${file} is too large: it is no such document.`);
  // No format begins with bytes that are letters of base64 to the end.
  const text = bytes.toString('latin1');
  return /^[A-Za-z0-9+/=\s]*$/.test(text) ? text.replaceAll(/\s/g, '') : bytes.toString('base64');
}

function readStart(file: string | 0, length: number): Buffer {
  const descriptor = file === 0 ? file : openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(length);
    let at = 0;
    for (let read = -1; read !== 0 && at < length; at += read)
      read = readSync(descriptor, bytes, at, length - at, null);
    return bytes.subarray(0, at);
  } finally {
    if (file !== 0) closeSync(descriptor);
  }
}
