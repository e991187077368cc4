import { encodeQR } from 'qr';

/** The light border that readers need, in modules. */
const QUIET_ZONE_MODULES = 4;

/** The QR code of a text with its border, row by row; true is dark. */
export function qrModules(text: string): boolean[][] {
  return encodeQR(text, 'raw', { ecc: 'medium', border: QUIET_ZONE_MODULES });
}
