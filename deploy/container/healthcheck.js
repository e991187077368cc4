// Ends with 0 if the service in this container answers GET /health. It asks on the loopback address, where the name in the certificate does not fit,
// and sends nothing that anyone could misuse.
import http from 'node:http';
import https from 'node:https';

const TIMEOUT_MS = 4_000;
const isTls = Boolean(process.env.CV_TLS_CERT_FILE);
const port = process.env.CV_PORT || '7400';
const request = (isTls ? https : http).get(
  `${isTls ? 'https' : 'http'}://127.0.0.1:${port}/health`,
  { timeout: TIMEOUT_MS, rejectUnauthorized: false },
  (response) => process.exit(response.statusCode === 200 ? 0 : 1),
);
request.on('timeout', () => request.destroy(new Error('no answer in time')));
request.on('error', (error) => {
  process.stderr.write(`${error.code ?? error.message}\n`);
  process.exit(1);
});
