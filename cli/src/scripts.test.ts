import { existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream';
import { after, before, test } from 'node:test';
import { HAS_TERMINALS, runCliScript } from '../../test/support/cli-script.ts';
import { addPerson } from '../../test/support/people.ts';
import { newPostgresDatabase, query } from '../../test/support/postgres.ts';
import { onSqliteAtLanding, type Service, startService } from '../../test/support/service.ts';

interface Proxy {
  url: string;
  /** While this file exists, every connection that is used is cut. */
  downFile: string;
  close(): void;
}

async function startProxy(url: string): Promise<Proxy> {
  const downFile = join(mkdtempSync(join(tmpdir(), 'coffer-proxy-')), 'down');
  const server = createServer((incoming) => {
    const outgoing = connect(Number(new URL(url).port), '127.0.0.1');
    incoming.on('data', () => existsSync(downFile) && incoming.resetAndDestroy());
    pipeline(incoming, outgoing, incoming, () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, downFile, close: () => server.close() };
}

/** A role of a real server, by what a script calls its parts. */
async function newLogin(): Promise<Record<string, string>> {
  const url = await newPostgresDatabase();
  const [user, password] = [`login_${Date.now()}`, 'hunter-two'];
  await query(url, `create role ${user} login password '${password}'`);
  return { DATABASE_PORT: new URL(url).port, DATABASE_USER: user, DATABASE_PASSWORD: password };
}

/** The scripts in cli/testdata, each with a service of its own tenant's things and an empty home folder. */
onSqliteAtLanding('the command line', (database) => {
  let service: Service;
  let proxy: Proxy;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    proxy = await startProxy(service.url);
  });
  after(async () => {
    proxy.close();
    await service.close();
  });

  for (const file of globSync('cli/testdata/*.txt').toSorted()) {
    const text = readFileSync(file, 'utf8');
    const skip = text.includes('\ntty$ ') && !HAS_TERMINALS ? 'needs the program script, of util-linux' : false;
    test(basename(file, '.txt'), { skip }, async () => {
      const { email, password } = await addPerson(service, { role: 'admin' });
      const member = await addPerson(service);
      await runCliScript(text, {
        URL: service.url,
        PROXY_URL: proxy.url,
        PROXY_IS_DOWN: proxy.downFile,
        ADMIN_TOKEN: service.adminToken,
        EMAIL: email,
        PERSON_PASSWORD: password,
        MEMBER_EMAIL: member.email,
        MEMBER_PASSWORD: member.password,
        ...(text.includes('$DATABASE_') && (await newLogin())),
        NAME: `${basename(file, '.txt')}-${database}`,
      });
    });
  }
});
