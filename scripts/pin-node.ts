import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Writes server/src/start/node-binaries.json: the digest of each Node that package-lock.json can install. The lock file has the digest of the package,
 * and this the digest of the program in it, which a start can compare with the program that runs it. Run it after changing the version.
 */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly os: string;
  readonly cpu: string;
  readonly bin: { readonly node: string };
}

const MEGABYTE = 1024 * 1024;
const root = join(import.meta.dirname, '..');
const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const { optionalDependencies } = readJson(join(root, 'package.json')) as {
  optionalDependencies: Record<string, string>;
};
const { packages } = readJson(join(root, 'package-lock.json')) as { packages: Record<string, { integrity: string }> };

const folder = mkdtempSync(join(tmpdir(), 'pin-node-'));
try {
  const versions = new Set(Object.values(optionalDependencies));
  const [version] = versions;
  if (versions.size !== 1) throw new Error(`Name one version of Node in package.json, not ${versions.size}.`);
  const sha256: Record<string, string> = {};
  for (const name of Object.keys(optionalDependencies).sort()) {
    const { platform, digest } = digestOf(name, String(version));
    sha256[platform] = digest;
  }
  writeFileSync(join(root, 'server/src/start/node-binaries.json'), `${JSON.stringify({ version, sha256 }, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}

function digestOf(name: string, version: string): { platform: string; digest: string } {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder, `${name}@${version}`], { encoding: 'utf8' }),
  ) as [{ filename: string }];
  const archive = join(folder, packed.filename);
  const integrity = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (packages[`node_modules/${name}`]?.integrity !== integrity)
    throw new Error(`${name} is not what package-lock.json says.`);
  const read = (file: string) =>
    execFileSync('tar', ['-xOzf', archive, `package/${file}`], { maxBuffer: 512 * MEGABYTE });
  const { os, cpu, bin } = JSON.parse(read('package.json').toString()) as Manifest;
  return { platform: `${os}-${cpu}`, digest: createHash('sha256').update(read(bin.node)).digest('hex') };
}
