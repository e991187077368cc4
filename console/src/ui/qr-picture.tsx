import { qrCode } from '../qr-code.ts';

/** The light border that readers need, in modules. */
const QUIET = 4;

/** A text as a QR code: dark on light in every theme, because readers expect it. */
export function QrPicture({ text, label }: { text: string; label: string }) {
  const modules = qrCode(text);
  const size = modules.length + 2 * QUIET;
  const path = modules.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
  );
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#ffffff" />
      <path d={path.join('')} fill="#000000" />
    </svg>
  );
}
