import { qrModules } from './qr-modules.ts';

/** A text as a QR code: dark on light in every theme, because readers expect it. */
export function QrPicture({ text, label }: { text: string; label: string }) {
  const modules = qrModules(text);
  const path = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${modules.length} ${modules.length}`}
      shape-rendering="crispEdges"
    >
      <rect width={modules.length} height={modules.length} fill="#ffffff" />
      <path d={path.join('')} fill="#000000" />
    </svg>
  );
}
