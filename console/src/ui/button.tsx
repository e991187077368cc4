import type { ComponentChildren } from 'preact';

interface ButtonProps {
  children: ComponentChildren;
  /** Danger is the last question; what leads to it is destructive. */
  kind?: 'primary' | 'destructive' | 'danger' | 'quiet' | 'production';
  isSmall?: boolean;
  /** Shown while its action runs; it cannot be pressed again meanwhile. */
  isBusy?: boolean;
  isDisabled?: boolean;
  /** Whether what it unfolds is unfolded. */
  isExpanded?: boolean;
  type?: 'submit' | 'button';
  label?: string;
  onClick?: (event: MouseEvent) => void;
}

function classes(kind: ButtonProps['kind'], isSmall = false): string {
  return ['button', kind ?? '', isSmall ? 'small' : ''].filter(Boolean).join(' ');
}

/** Stays in the focus order when it cannot be used, so that a keyboard user does not lose their place. */
export function Button({
  children,
  kind,
  isSmall,
  isBusy,
  isDisabled,
  isExpanded,
  type = 'button',
  label,
  onClick,
}: ButtonProps) {
  const isOff = isBusy === true || isDisabled === true;
  return (
    <button
      type={type}
      class={classes(kind, isSmall)}
      aria-disabled={isOff}
      aria-busy={isBusy === true}
      aria-expanded={isExpanded}
      aria-label={label}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
    </button>
  );
}

export function LinkButton({
  href,
  children,
  kind,
  isSmall,
  label,
}: Pick<ButtonProps, 'children' | 'kind' | 'isSmall' | 'label'> & { href: string }) {
  return (
    <a class={classes(kind, isSmall)} href={href} aria-label={label}>
      {children}
    </a>
  );
}
