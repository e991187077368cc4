import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Who built, where nothing else is said: a checkout, by hand. A pipeline names itself in BUILDER_ID. */
const LOCAL_BUILDER = 'urn:coffer:builder:checkout';
const BUILD_TYPE = 'urn:coffer:build-packages:1';

export interface Built {
  /** What was built. */
  files: readonly string[];
  /** Null where nobody knows it. */
  commit: string | null;
  lockFile: string;
  version: string;
  startedAt: Date;
  finishedAt: Date;
}

export const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** As `sha256sum --check` reads them. */
export function digestLines(files: readonly string[]): string {
  return files.map((file) => `${digestOf(file)}  ${basename(file)}\n`).join('');
}

/** Says what was built from what, and by whom: a statement of in-toto with the provenance of SLSA. It is not signed; docs/deploy.md says how to. */
export function provenanceOf({ files, commit, lockFile, version, startedAt, finishedAt }: Built): object {
  const lock = { name: basename(lockFile), digest: { sha256: digestOf(lockFile) } };
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map((file) => ({ name: basename(file), digest: { sha256: digestOf(file) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { command: 'npm run build:packages', version },
        resolvedDependencies: [...(commit === null ? [] : [{ name: 'source', digest: { gitCommit: commit } }]), lock],
      },
      runDetails: {
        builder: { id: process.env['BUILDER_ID'] ?? LOCAL_BUILDER, version: { node: process.versions.node } },
        metadata: { startedOn: startedAt.toISOString(), finishedOn: finishedAt.toISOString() },
      },
    },
  };
}
