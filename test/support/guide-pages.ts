import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../docs/guide');

export const guidePages = readdirSync(FOLDER).filter((file) => file.endsWith('.md') && file !== 'README.md');

export function readGuidePage(page: string): string {
  return readFileSync(join(FOLDER, page), 'utf8');
}

/** The blocks of one language, in order: `sh` is what a reader would paste. */
export function blocksOf(page: string, language: 'sh' | 'yaml'): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...readGuidePage(page).matchAll(fence)].map((match) => String(match[1]));
}

/** The settings a page asks its reader to start the service with: `CV_NAME=value npm start`. */
export function settingsOf(page: string): Record<string, string> {
  const asked = [...readGuidePage(page).matchAll(/`((?:CV_[A-Z_]+=\S+ )+)npm start`/g)].map((match) =>
    String(match[1]),
  );
  const settings = asked.flatMap((text) => [...text.matchAll(/(CV_[A-Z_]+)=(\S+)/g)]);
  return Object.fromEntries(settings.map(([, name, value]) => [String(name), String(value)]));
}
