import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import pinned from './node-binaries.json' with { type: 'json' };

/** The file is hashed in chunks that block the event loop for less than a millisecond each. */
const CHUNK_BYTES = 512 * 1024;

export interface NodeProgram {
  readonly file: string;
  readonly version: string;
  readonly platform: string;
}

export const RUNNING_NODE: NodeProgram = {
  file: process.execPath,
  version: process.versions.node,
  platform: `${process.platform}-${process.arch}`,
};

/** Describes how the running Node differs from the one the lock file pins, or returns null if it is the same. */
export async function differenceFromPinnedNode(node: NodeProgram): Promise<string | null> {
  const expected = `This version of Coffer is tested with Node ${pinned.version}, which \`npm ci\` installs`;
  if (node.version !== pinned.version) return `${expected}; it runs on Node ${node.version} (${node.file}).`;
  const digest = (pinned.sha256 as Record<string, string | undefined>)[node.platform];
  if (digest === undefined)
    return `${expected}, but there is no digest for ${node.platform} to verify ${node.file} with.`;
  const found = await sha256Of(node.file);
  if (found === digest) return null;
  if (found === null) return `${expected}; ${node.file} could not be read, so it was not verified.`;
  return `${expected}; ${node.file} reports this version, but is a different program. Install again with \`npm ci\`, unless you built it yourself.`;
}

/** Returns null if the file was deleted or is not readable: a binary can be replaced while it runs, or be executable only. */
async function sha256Of(file: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file, { highWaterMark: CHUNK_BYTES }), hash);
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) return null;
    throw error;
  }
  return hash.digest('hex');
}
