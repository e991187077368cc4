import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateSource } from 'oazapfts';
import openapiTS, { astToString } from 'openapi-typescript';

/** Not committed: the programs beside it are compiled against what the generators make of the document of today. */
const FOLDER = join(import.meta.dirname, 'generated');

/** Two clients of the service, made from what it says of itself by programs that nobody here wrote. */
export async function generateClients(document: string): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const file = join(FOLDER, 'openapi.json');
  writeFileSync(file, document);
  const types = await openapiTS(JSON.parse(document));
  writeFileSync(join(FOLDER, 'openapi-typescript.ts'), astToString(types));
  writeFileSync(join(FOLDER, 'oazapfts.ts'), await generateSource(file));
}
