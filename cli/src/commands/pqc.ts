import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { action, jsonIn, listing } from '../declared.ts';
import { CommandError } from '../failure.ts';
import { ago } from '../output.ts';
import { readStandardInput, readTextFile } from '../prompt.ts';

export function register(program: Command): void {
  const pqc = program
    .command('pqc')
    .description('Wrap keys and sign files, each with an old and a new algorithm at once');
  registerWrapping(pqc);
  registerSigning(pqc);
  registerKeys(pqc);
}

function registerWrapping(pqc: Command): void {
  action(pqc, {
    usage: 'wrap',
    summary: 'Wrap an AES-256 key, base64 from standard input or a prompt, and print what unwrap takes',
    route: 'POST /pqc/hybrid-classical/wrap',
    options: [
      { flags: '--key', description: 'Key, 32 bytes in base64', to: 'body/key', kind: 'input' },
      {
        flags: '--algorithm <algorithm>',
        description: 'ecdh-p256+ml-kem-768 (the default) or rsa-oaep-2048+ml-kem-768',
        to: 'body/algorithm',
        otherwise: 'ecdh-p256+ml-kem-768',
      },
      {
        flags: '--public-key <key>',
        description: 'wrap for the owner of this public key, in base64',
        to: 'body/public_key',
      },
    ],
    isRead: true,
    shows: (wrapped) => JSON.stringify(wrapped),
  });
  action(pqc, {
    usage: 'unwrap <file>',
    summary: 'Unwrap what wrap printed, from a file or - for standard input, and print the key',
    route: 'POST /pqc/hybrid-classical/unwrap',
    arguments: [{ to: 'body', translate: readDocument }],
    isRead: true,
    isValue: true,
    shows: ({ key }) => key,
  });
}

function registerSigning(pqc: Command): void {
  action(pqc, {
    usage: 'sign <file>',
    summary: 'Sign a file, or - for standard input, of which only the SHA-512 is sent; prints what verify takes',
    route: 'POST /pqc/dual-sign/sign',
    arguments: [{ to: 'body/digest', translate: hashFile }],
    isRead: true,
    shows: (signed) => JSON.stringify(signed),
  });
  action(pqc, {
    usage: 'verify <file> <signature>',
    summary: 'Verify a file, or - for standard input, by a file with what sign printed',
    route: 'POST /pqc/dual-sign/verify',
    arguments: [
      { to: 'body/digest', translate: hashFile },
      { to: 'body', translate: readSignature },
    ],
    options: [
      {
        flags: '--public-key <key>',
        description: 'require a signature by this public key, in base64; it may belong to anyone',
        to: 'body/public_key',
      },
    ],
    isRead: true,
    failure: ({ valid, ml_dsa_valid, rsa_pss_valid }) =>
      valid
        ? null
        : `The signature is not valid for this file: ML-DSA ${validity(ml_dsa_valid)}, RSA-PSS ${validity(rsa_pss_valid)}.`,
    says: ({ key_id }) => `The signature is valid, by the key ${key_id}.`,
  });
}

const validity = (isValid: boolean) => (isValid ? 'valid' : 'not valid');

function registerKeys(pqc: Command): void {
  listing(pqc, {
    usage: 'keys',
    isDefault: true,
    summary: 'List the public keys of the tenant, with their versions',
    route: 'GET /pqc/keys',
    options: [{ flags: '--algorithm <algorithm>', description: 'only keys of this algorithm', to: 'query/algorithm' }],
    rows: (page) => page.keys,
    columns: [
      { title: 'KEY', of: ({ key_id }) => key_id },
      { title: 'ALGORITHM', of: ({ algorithm }) => algorithm },
      { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      { title: 'CREATED', of: ({ created_at }) => ago(created_at) },
    ],
    empty: 'There is no key yet: each is made when it is first used.',
  });
  action(pqc, {
    usage: 'key <key>',
    summary: 'Print one public key, in base64',
    route: 'GET /pqc/keys/{key_id}',
    arguments: ['path/key_id'],
    isRead: true,
    shows: ({ public_key }) => public_key,
  });
  action(pqc, {
    usage: 'rotate <algorithm>',
    summary: 'Make a new version, which wraps or signs from now on; older ones still unwrap and verify',
    route: 'POST /pqc/keys/rotate',
    arguments: ['body/algorithm'],
    options: [{ flags: '--reason <text>', description: 'why', to: 'body/reason' }],
    says: ({ key_id, version, algorithm }) => `Version ${version} of ${algorithm} is ${key_id}.`,
  });
}

async function readDocument(_: Coffer, file: string): Promise<object> {
  const document = jsonIn(file === '-' ? await readStandardInput() : readTextFile(file), file);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new CommandError(
      `${file === '-' ? 'Standard input' : file} is not the output of wrap or sign: it is not a JSON object.`,
    );
  return document;
}

/** Leaves out the public key in the file, because anyone who changed the file could have changed the key too. */
async function readSignature(coffer: Coffer, file: string, command: Command): Promise<object> {
  const { key_id, signature } = (await readDocument(coffer, file)) as Record<string, unknown>;
  const isOfAnyone = command.opts<{ publicKey?: string }>().publicKey !== undefined;
  return { signature, ...(!isOfAnyone && { key_id }) };
}

async function hashFile(_: Coffer, file: string): Promise<string> {
  const hash = createHash('sha512');
  await pipeline(file === '-' ? process.stdin : createReadStream(file), hash);
  return hash.digest('base64');
}
