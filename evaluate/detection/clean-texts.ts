import { createHash, generateKeyPairSync } from 'node:crypto';
import { Draws } from '../anomalies/random.ts';
import { text } from './secret-values.ts';

/** Technical text without anything to mask. Much of it looks as if: digests, ids, public keys, placeholders, code about passwords. */

const HEX = '0123456789abcdef';
const digest = (draws: Draws, algorithm: string, encoding: 'hex' | 'base64') =>
  createHash(algorithm)
    .update(String(draws.whole(0, 1e9)))
    .digest(encoding);
const uuid = (draws: Draws) =>
  [8, 4, 4, 4, 12]
    .map((length) => text(draws, HEX, length))
    .join('-')
    .replace(/^(.{14})./, '$14')
    .replace(/^(.{19})./, '$1a');

const TEXTS: readonly ((draws: Draws) => string)[] = [
  (d) => `The request ${uuid(d)} failed with status 500 after 3 retries.`,
  (d) =>
    `commit ${text(d, HEX, 40)}\nAuthor: the build\nDate:   Tue Nov 10 09:14:02 2026 +0100\n\n    Cache the price list\n`,
  (d) => `docker pull registry.example.com/shop@sha256:${digest(d, 'sha256', 'hex')}`,
  (d) =>
    `"node_modules/left-pad": {\n  "version": "1.3.0",\n  "integrity": "sha512-${digest(d, 'sha512', 'base64')}"\n}`,
  (d) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${digest(d, 'sha256', 'base64').replace(/=+$/, '')} build`,
  () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  (d) => `Upgrade from ${d.whole(1, 9)}.${d.whole(0, 40)}.${d.whole(0, 9)} to 4.12.1-rc.2 and restart the workers.`,
  () =>
    'export function verify(password: string, hash: string): Promise<boolean> {\n  return argon2.verify(hash, password);\n}',
  () =>
    'const token = await getToken();\nif (token === undefined) throw new Error("no token");\nheaders.set("Authorization", `Bearer $' +
    '{token}`);',
  () => 'password: str = Field(min_length=12, description="The new password")\ntoken: SecretStr | None = None',
  () => 'DB_PASSWORD=changeme\nAPI_KEY=<your-api-key>\nSECRET_KEY=$' + '{SECRET_KEY}\nTOKEN=xxxxxxxx',
  () =>
    'env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: shop-db\n        key: password',
  () => 'curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/vaults',
  () => 'psql "postgres://app:$' + '{DB_PASSWORD}@db.example.com:5432/shop"',
  () =>
    'The documentation uses 192.0.2.10 and 2001:db8::1, which are reserved for examples. Use localhost for local tests.',
  () => 'RFC 1918 reserves three ranges, RFC 6598 one for carriers, and RFC 5737 192.0.2.0/24 and 203.0.113.0/24.',
  () => 'Listen on 0.0.0.0:8080 and answer health checks from 203.0.113.9.',
  (d) => `GET /v1/vaults/payments/secrets?limit=100&cursor=eyJ HTTP/1.1 took ${d.whole(1, 900)} ms`,
  () => 'How do I rotate a password every 30 days? The secret has the type password and lives in the vault payments.',
  () => 'Warum ist der Risikowert dieses Geheimnisses so hoch? Es wurde seit 180 Tagen nicht rotiert.',
  () => 'Comment puis-je limiter un jeton à un seul coffre ? La politique autorise secrets:read.',
  () => '¿Cómo puedo limitar un token a una sola bóveda? La política permite secrets:list.',
  () => 'Jak ograniczyć token do jednego skarbca? Polityka pozwala na secrets:read.',
  () => 'Como faço para girar uma chave a cada trinta dias?',
  () => 'Come posso ruotare una chiave ogni trenta giorni?',
  () => 'Hoe beperk ik een token tot één kluis?',
  (d) => `{"id": "${uuid(d)}", "created_at": "2026-11-14T10:00:00.000Z", "count": ${d.whole(0, 99_999)}, "ok": true}`,
  (d) =>
    `vault_id=vault_01${text(d, '0123456789abcdefghjkmnpqrstvwxyz', 24)} secret_id=sec_01${text(d, '0123456789abcdefghjkmnpqrstvwxyz', 24)}`,
  (d) => `ETag: "${text(d, HEX, 32)}"\nContent-Length: ${d.whole(100, 99_999)}\nCache-Control: max-age=31536000`,
  () =>
    "SELECT id, name, created_at FROM orders WHERE status = 'open' AND total > 100 ORDER BY created_at DESC LIMIT 50;",
  () => 'ALTER ROLE app WITH LOGIN PASSWORD :password;',
  () =>
    'resource "aws_db_instance" "shop" {\n  engine         = "postgres"\n  engine_version = "16.4"\n  password       = var.db_password\n}',
  () => 'terraform plan -var-file=production.tfvars -out=plan.bin',
  () =>
    'const SESSION_COOKIE_NAME = "__Host-session";\nconst TOKEN_TTL_SECONDS = 3600;\nconst KEY_PREFIX = "shop:cart:";',
  () => 'if (user.password === null) return redirect("/reset-password");',
  () => 'assert.equal(response.headers.get("x-api-key"), null);\nassert.equal(typeof body.access_token, "string");',
  () => 'Set `CV_COPILOT_API_KEY_FILE` to a file that only the service can read.',
  () => 'kubectl get secret shop-db -o jsonpath="{.data.password}" | base64 -d',
  () => 'helm upgrade --install shop ./chart --set image.tag=4.12.1 --set replicas=3 --timeout 10m',
  (d) => `[${d.whole(10, 23)}:14:02.118] GC pause 12.4 ms, heap 512.0M->301.5M, 8 workers, load 1.25 0.98 0.77`,
  () => 'The tests took 12 min 40 s: 1,204 passed, 3 failed, 17 skipped. Coverage is 87.4 %.',
  () =>
    'interface Credentials {\n  readonly username: string;\n  readonly password: string;\n  readonly otp?: string;\n}',
  () =>
    'func (c *Client) SetToken(token string) { c.token = token }\n\nvar ErrNoToken = errors.New("token is required")',
  () => 'private final String passwordFieldName = "password";\nprivate static final int KEY_LENGTH = 256;',
  () => 'openssl req -new -key server.key -out server.csr -subj "/CN=shop.example.com"',
  () => 'gpg --verify coffer-0.4.0.tar.gz.asc coffer-0.4.0.tar.gz',
  (d) => `SHA256 (coffer.tar.gz) = ${digest(d, 'sha256', 'hex')}`,
  (d) =>
    `Serial number: ${text(d, HEX, 2)}:${text(d, HEX, 2)}:${text(d, HEX, 2)}:${text(d, HEX, 2)}, valid until 2027-03-01`,
  (d) => `MAC ${Array.from({ length: 6 }, () => text(d, HEX, 2)).join(':')}, MTU 1500, RX 88,120 packets`,
  () => 'Open an issue at https://issues.example.com or use @typescript/native@7.0.2 and icon@2x.png.',
  () => 'git clone git@github.com:acme/shop.git && cd shop && npm ci',
  () => 'Order 20261114-0042: 3 items, 149.90 EUR, paid on 2026-11-12, ships in 5 to 7 days.',
  (d) => `trace_id=${text(d, HEX, 32)} span_id=${text(d, HEX, 16)} duration_ms=${d.whole(1, 900)}`,
  (d) => `traceparent: 00-${text(d, HEX, 32)}-${text(d, HEX, 16)}-01`,
  () => 'cron: "0 3 * * 1-5"  # 03:00 on workdays\nretentionDays: 35\nbackoffLimit: 4',
  () =>
    'The policy has two statements. The first allows secrets:* on vault/payments/*; the second denies secrets:delete without a second factor.',
  (d) => `0x${text(d, HEX, 40)} is a contract address, 21,000 gas, block ${d.whole(1_000_000, 9_999_999)}`,
  () =>
    'const re = /^[A-Za-z0-9+/]{40}$/;\nconst uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;',
  () =>
    'background: url("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");',
  (d) => `build-${d.whole(1000, 9999)}-linux-x64, npm 11.4.2, node v26.10.0, glibc 2.36`,
];

export const CLEAN_ROUNDS = 4;

/** Every text four times with other numbers in it. */
export function cleanTextsOf(seed: number): string[] {
  return Array.from({ length: CLEAN_ROUNDS * TEXTS.length }, (_, at) => {
    const make = TEXTS[at % TEXTS.length] as (draws: Draws) => string;
    return make(Draws.for(seed, 'clean', at));
  });
}
