import { createHash } from 'node:crypto';

/** A package as package-lock.json has it. */
export interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  /** For a workspace: the entry is a link to its folder. */
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** Workspaces whose code is bundled into a package, each without the dependencies that only build it. */
const BUNDLED: Readonly<Record<string, readonly { workspace: string; without: readonly string[] }[]>> = {
  server: [{ workspace: 'console', without: ['esbuild'] }],
};
/** A licence that is one identifier of SPDX. Anything else is an expression. */
const ONE_LICENCE = /^[A-Za-z0-9.+-]+$/;

/** A workspace, or an installed package, with where it is in the lock file. */
interface Found {
  path: string;
  locked: LockedPackage;
}

/** Lists what a package consists of and depends on, as CycloneDX 1.6. The same inputs give the same bytes. */
export function billOfMaterials(packages: LockedPackages, workspace: string, { madeAt }: { madeAt: Date }): object {
  const root = { path: workspace, locked: lockedAt(packages, workspace) };
  const found = new Map<string, { one: Found; needs: string[] }>();
  const waiting = [root];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (found.has(purlOf(one))) continue;
    const needed = neededBy(packages, one);
    found.set(purlOf(one), { one, needs: needed.map(purlOf).toSorted() });
    waiting.push(...needed);
  }
  const all = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const content = {
    metadata: {
      timestamp: madeAt.toISOString(),
      tools: { components: [{ type: 'application', name: 'build:packages', version: root.locked.version }] },
      component: { ...componentOf(root), type: 'application' },
    },
    components: all.filter(([purl]) => purl !== purlOf(root)).map(([, { one }]) => componentOf(one)),
    dependencies: all.map(([ref, { needs }]) => ({ ref, dependsOn: needs })),
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
}

function neededBy(packages: LockedPackages, { path, locked }: Found): Found[] {
  const bundled = (BUNDLED[path] ?? []).flatMap(({ workspace, without }) =>
    dependenciesOf(packages, { path: workspace, locked: lockedAt(packages, workspace) }).filter(
      (one) => !without.includes(nameOf(one)),
    ),
  );
  const all = [...dependenciesOf(packages, { path, locked }), ...bundled];
  return [...new Map(all.map((one) => [purlOf(one), one])).values()];
}

function dependenciesOf(packages: LockedPackages, { path, locked }: Found): Found[] {
  const required = Object.keys(locked.dependencies ?? {}).map((name) => {
    const found = resolve(packages, path, name);
    if (found === null) throw new Error(`package-lock.json has no ${name}, which ${path} needs`);
    return found;
  });
  // Those for another platform are in the lock file too; peers that are optional may not be.
  const others = Object.keys({ ...locked.optionalDependencies, ...locked.peerDependencies })
    .map((name) => resolve(packages, path, name))
    .filter((found) => found !== null);
  return [...required, ...others];
}

/** Looks in the folders where Node would. */
function resolve(packages: LockedPackages, from: string, name: string): Found | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const locked = packages[path];
    if (locked?.link === true) {
      const workspace = locked.resolved ?? '';
      return { path: workspace, locked: lockedAt(packages, workspace) };
    }
    if (locked !== undefined) return { path, locked };
    if (folder === '') return null;
  }
}

function lockedAt(packages: LockedPackages, path: string): LockedPackage {
  const locked = packages[path];
  if (locked === undefined) throw new Error(`package-lock.json has no ${path}`);
  return locked;
}

const nameOf = ({ path, locked }: Found) => locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 13);

/** The package URL: the at sign of a scope is escaped, the slash after it is not. */
function purlOf(one: Found): string {
  return `pkg:npm/${nameOf(one).replace('@', '%40')}@${one.locked.version}`;
}

function componentOf(one: Found): object {
  const [, group, name = ''] = /^(?:(@[^/]+)\/)?(.+)$/.exec(nameOf(one)) ?? [];
  const { version, integrity, license } = one.locked;
  const purl = purlOf(one);
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group !== undefined && { group }),
    name,
    version,
    ...(integrity !== undefined && { hashes: hashesOf(integrity) }),
    ...(license !== undefined && { licenses: [licenceOf(license)] }),
    purl,
  };
}

const licenceOf = (text: string) => (ONE_LICENCE.test(text) ? { license: { id: text } } : { expression: text });

function hashesOf(integrity: string): object[] {
  return integrity
    .split(' ')
    .filter((each) => each.startsWith('sha512-'))
    .map((each) => ({ alg: 'SHA-512', content: Buffer.from(each.slice(7), 'base64').toString('hex') }));
}

/** A UUID of version 8, whose bits are the application's own. */
function uuidOf(text: string): string {
  const digest = createHash('sha256').update(text).digest().subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
