export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect x="3" y="8" width="26" height="20" rx="4" fill="currentColor" />
      <path d="M10 8V6a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v2" fill="none" stroke="currentColor" stroke-width="3" />
      <circle class="hole" cx="16" cy="16.5" r="3.2" />
      <path class="hole" d="M16 18v5" stroke-width="3" stroke-linecap="round" />
    </svg>
  );
}
