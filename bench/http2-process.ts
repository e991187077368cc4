import { writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import { testAuthority } from '../test/support/test-authority.ts';

/** A bare server that speaks HTTP/1.1 and HTTP/2, with a certificate of its own, which it writes to the folder given. */
const certificate = await testAuthority({
  cn: 'localhost',
  names: [{ type: 'dns', value: 'localhost' }],
  keyUsage: null,
});
writeFileSync(join(process.argv[2] ?? '.', 'cert.pem'), certificate.pem);
const body = Buffer.from(JSON.stringify({ filler: 'x'.repeat(187) }));
const options = { cert: certificate.pem, key: await certificate.keyPem(), allowHTTP1: true };
const server = createSecureServer(options, (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`ready on ${typeof address === 'object' ? address?.port : ''}\n`);
});
