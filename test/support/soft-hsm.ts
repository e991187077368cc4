import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installed } from './debian.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUILD_MS = 5 * 60_000;
export const PIN = '84217305';
export const TOKEN = 'coffer test';

/** SoftHSM2 and a built pkcs11js, or why they cannot be had. */
export type Tools = { module: string; program: string; binding: string } | { missing: string };

export function softHsm(): Tools {
  const found = installed(['softhsm2'], {
    module: '/usr/lib/**/softhsm/libsofthsm2.so',
    program: '/usr/bin/softhsm2-util',
  });
  if ('missing' in found) return found;
  const { module = '', program = '' } = found.paths;
  try {
    return { module, program, binding: builtBinding() };
  } catch (error) {
    return { missing: `pkcs11js cannot be built here: ${String((error as Error).message).split('\n')[0]}` };
  }
}

/** The version that the lock file names, built outside of what npm installs. */
function builtBinding(): string {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const { version, integrity } = lock.packages['node_modules/pkcs11js'];
  const cache = join(ROOT, 'node_modules/.cache/coffer-pkcs11js');
  const folder = join(cache, `${version}-${process.arch}`, 'package');
  const library = join(folder, 'build/Release/pkcs11.node');
  if (existsSync(library)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const stdio: ('ignore' | 'pipe')[] = ['ignore', 'pipe', 'ignore'];
  const options = { cwd: dirname(folder), timeout: BUILD_MS, stdio };
  const packed = JSON.parse(execFileSync('npm', ['pack', '--json', `pkcs11js@${version}`], options).toString('utf8'));
  const [{ filename, integrity: found }] = Array.isArray(packed) ? packed : Object.values(packed);
  if (found !== integrity) throw new Error('the package is not the one in the lock file');
  execFileSync('tar', ['-xzf', filename], options);
  const headers = [
    join(dirname(process.execPath), '../include/node'),
    '/usr/include/node',
    '/usr/local/include/node',
  ].find((one) => existsSync(join(one, 'node_api.h')));
  if (headers === undefined) throw new Error('the headers of Node are not installed');
  mkdirSync(dirname(library), { recursive: true });
  // As its binding.gyp says. Node-API is the same for all versions of Node.
  const sources = ['dl', 'common', 'main'].map((name) => join(folder, `src/${name}.cpp`));
  const flags = ['-shared', '-fPIC', '-DNAPI_DISABLE_CPP_EXCEPTIONS', '-DNODE_GYP_MODULE_NAME=pkcs11', `-I${headers}`];
  execFileSync('g++', [...flags, `-I${join(folder, 'includes')}`, ...sources, '-o', library], options);
  return folder;
}

export class SoftHsm {
  readonly env: Record<string, string>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coffer-softhsm-'));
  readonly #program: string;

  constructor({ program, binding }: { program: string; binding: string }) {
    const config = join(this.#folder, 'softhsm2.conf');
    mkdirSync(join(this.#folder, 'tokens'));
    writeFileSync(config, `directories.tokendir = ${join(this.#folder, 'tokens')}\nobjectstore.backend = file\n`);
    this.#program = program;
    this.env = { PATH: process.env['PATH'] ?? '', SOFTHSM2_CONF: config, PKCS11JS_FOLDER: binding, PKCS11_PIN: PIN };
    this.initialize(TOKEN);
  }

  initialize(label: string): void {
    const args = ['--init-token', '--free', '--label', label, '--pin', PIN, '--so-pin', '12345678'];
    execFileSync(this.#program, args, { env: this.env, stdio: 'ignore' });
  }

  file(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Runs in a process of its own, as the provider does: `script` has the session in `session` and the module in `hsm`. */
  run(module: string, script: string): void {
    const text = `
      const pkcs11 = require(process.env.PKCS11JS_FOLDER);
      const hsm = new pkcs11.PKCS11();
      hsm.load(${JSON.stringify(module)});
      hsm.C_Initialize();
      const slot = hsm.C_GetSlotList(true).find((one) => hsm.C_GetTokenInfo(one).label.trim() === ${JSON.stringify(TOKEN)});
      const session = hsm.C_OpenSession(slot, 6);
      hsm.C_Login(session, 1, process.env.PKCS11_PIN);
      ${script}
      hsm.C_Finalize();`;
    execFileSync(process.execPath, ['-e', text], { env: this.env, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  makeAesKey(module: string, label: string, id: number): void {
    this.run(
      module,
      `hsm.C_GenerateKey(session, { mechanism: 0x1080, parameter: null }, [
        { type: 0, value: 4 }, { type: 0x100, value: 0x1f }, { type: 0x161, value: 32 }, { type: 1, value: true },
        { type: 2, value: true }, { type: 0x103, value: true }, { type: 0x162, value: false },
        { type: 0x104, value: true }, { type: 0x105, value: true },
        { type: 3, value: ${JSON.stringify(label)} }, { type: 0x102, value: Buffer.of(${id}) },
      ]);`,
    );
  }

  makeRsaPair(module: string, label: string, id: number): void {
    this.run(
      module,
      `const both = [{ type: 1, value: true }, { type: 3, value: ${JSON.stringify(label)} }, { type: 0x102, value: Buffer.of(${id}) }];
      hsm.C_GenerateKeyPair(session, { mechanism: 0, parameter: null },
        [...both, { type: 0x121, value: 2048 }, { type: 0x122, value: Buffer.of(1, 0, 1) }, { type: 0x104, value: true }],
        [...both, { type: 2, value: true }, { type: 0x103, value: true }, { type: 0x162, value: false }, { type: 0x105, value: true }]);`,
    );
  }

  removeKeys(module: string, label: string): void {
    this.run(
      module,
      `hsm.C_FindObjectsInit(session, [{ type: 3, value: ${JSON.stringify(label)} }]);
      const found = hsm.C_FindObjects(session, 10);
      hsm.C_FindObjectsFinal(session);
      for (const one of found) hsm.C_DestroyObject(session, one);`,
    );
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
