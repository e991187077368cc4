import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { writePrivateFile } from '../../client/src/node/index.ts';
import { CommandError } from './failure.ts';

/** A service that somebody is logged in to. */
export interface Profile {
  url: string;
  token: string;
  expires_at?: string;
  /** Who logged in, to tell profiles apart. */
  email?: string;
  ca_file?: string;
}

export interface Profiles {
  current: string;
  profiles: Record<string, Profile>;
}

/** The folder for what belongs to a person and not to a project. */
export function configFolder(): string {
  const { COFFER_CONFIG_DIR: own, XDG_CONFIG_HOME: xdg, APPDATA: windows } = process.env;
  return own || join(xdg || windows || join(homedir(), '.config'), 'coffer');
}

function file(): string {
  return join(configFolder(), 'profiles.json');
}

export function readProfiles(): Profiles {
  let text: string;
  try {
    text = readFileSync(file(), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: 'default', profiles: {} };
    throw error;
  }
  try {
    const { current, profiles } = JSON.parse(text) as Profiles;
    // Without a prototype, so that no name is there that nobody chose.
    if (typeof current === 'string' && typeof profiles === 'object') {
      return { current, profiles: Object.assign(Object.create(null), profiles) };
    }
  } catch {
    // Told below.
  }
  throw new CommandError(`${file()} is damaged. Move it away and log in again: coffer login`);
}

/** Only its owner can read the file, and a reader sees the old or the new one. */
export function writeProfiles(profiles: Profiles): void {
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 });
  writePrivateFile(file(), `${JSON.stringify(profiles, null, 2)}\n`);
}
