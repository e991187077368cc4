import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { signedHeaders } from './aws-signature.ts';

const NOW = Date.UTC(2026, 10, 14, 9, 30, 15);

/** Examples of the documentation of S3, "Signature Calculations for the Authorization Header". */
test('the examples that AWS published have the published signatures', () => {
  const credentials = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken: null,
  };
  const place = { region: 'us-east-1', service: 's3', now: Date.UTC(2013, 4, 24) };
  const origin = 'https://examplebucket.s3.amazonaws.com';
  const get = { method: 'GET', url: `${origin}/test.txt`, headers: { range: 'bytes=0-9' }, body: '' } as const;
  const put = {
    method: 'PUT',
    url: `${origin}/test%24file.text`,
    headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    body: 'Welcome to Amazon S3.',
  } as const;
  const signatureOf = (request: typeof get | typeof put) =>
    signedHeaders(request, credentials, place)['authorization']?.split('Signature=')[1];
  assert.equal(signatureOf(get), 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41');
  assert.equal(signatureOf(put), '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
});

test('requests are signed as the SDK of AWS signs them, for any model, body and token', async () => {
  const word = fc.stringMatching(/^[A-Za-z0-9._:/@-]{1,40}$/);
  await fc.assert(
    fc.asyncProperty(word, fc.string(), fc.option(word, { nil: null }), async (model, body, sessionToken) => {
      const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret of the test', sessionToken };
      const [hostname, path] = [
        'bedrock-runtime.eu-central-1.amazonaws.com',
        `/model/${encodeURIComponent(model)}/converse`,
      ];
      const request = {
        method: 'POST',
        url: `https://${hostname}${path}`,
        headers: { 'content-type': 'application/json' },
        body,
      } as const;
      const own = signedHeaders(request, credentials, { region: 'eu-central-1', service: 'bedrock', now: NOW });
      const signer = new SignatureV4({
        service: 'bedrock',
        region: 'eu-central-1',
        credentials: { ...credentials, sessionToken: sessionToken ?? undefined } as never,
        sha256: Sha256,
      });
      const theirs = await signer.sign(
        {
          method: 'POST',
          protocol: 'https:',
          hostname,
          path,
          query: {},
          headers: { host: hostname, ...request.headers },
          body,
        },
        { signingDate: new Date(NOW) },
      );
      assert.equal(own['authorization'], theirs.headers['authorization']);
    }),
    { numRuns: 100 },
  );
});

test('objects of S3 are signed as the SDK of AWS signs them, for any name and content', async () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$/);
  await fc.assert(
    fc.asyncProperty(name, fc.uint8Array(), fc.constantFrom('GET', 'PUT'), async (key, body, method) => {
      const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret of the test' };
      const [hostname, path] = ['s3.eu-central-1.amazonaws.com', `/bucket/a/${key}`];
      const headers = { 'if-none-match': '*' };
      const request = { method, url: `https://${hostname}${path}`, headers, body } as const;
      const place = { region: 'eu-central-1', service: 's3', now: NOW };
      const own = signedHeaders(request, { ...credentials, sessionToken: null }, place);
      const signer = new SignatureV4({ ...place, credentials, sha256: Sha256, uriEscapePath: false });
      const theirs = await signer.sign(
        { method, protocol: 'https:', hostname, path, query: {}, headers: { host: hostname, ...headers }, body },
        { signingDate: new Date(NOW) },
      );
      assert.equal(own['authorization'], theirs.headers['authorization']);
    }),
    { numRuns: 50 },
  );
});
