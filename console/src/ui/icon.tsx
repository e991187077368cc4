import { spriteAddress } from '../app/files.ts';
import type { IconName } from './icon-names.ts';

/** In the colour and beside the name of what it stands for, so screen readers leave it out. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" aria-hidden="true" focusable="false">
      <use href={`${spriteAddress}#${name}`} />
    </svg>
  );
}
