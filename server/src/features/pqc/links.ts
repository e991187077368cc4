import { shared } from '../../kernel/feature/links.ts';
import type { PqcKeys } from './keys.ts';

/** Features share it, because it caches keys. */
export const sharedPqcKeys = shared<PqcKeys>('pqcKeys');
