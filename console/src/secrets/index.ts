import { createSecretTexts } from './create-texts.ts';

export const secretTypes = createSecretTexts.types;
export const loadSecretPage = () => import('./page.tsx');
export const loadChangePassphrase = () => import('./change-passphrase.tsx');
export const loadCreateSecret = () => import('./create.tsx');
