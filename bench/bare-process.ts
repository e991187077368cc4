import { createServer } from 'node:http';

/** The yardstick: node:http with a fixed answer of the size given, and nothing else. */
const body = Buffer.from(JSON.stringify({ filler: 'x'.repeat(Math.max(0, Number(process.argv[2]) - 13)) }));
const server = createServer((request, response) => {
  const answer = () => {
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length });
    response.end(body);
  };
  if (request.method === 'GET') answer();
  else request.on('data', () => {}).on('end', answer);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`ready on ${typeof address === 'object' ? address?.port : ''}\n`);
});
