import type { ComponentChildren } from 'preact';

interface ButtonProps {
  children: ComponentChildren;
  kind?: 'primary' | 'danger' | 'quiet';
  isSmall?: boolean;
  /** Shown while its action runs; it cannot be pressed again meanwhile. */
  isBusy?: boolean;
  isDisabled?: boolean;
  type?: 'submit' | 'button';
  label?: string;
  onClick?: (event: MouseEvent) => void;
}

function classes(kind: ButtonProps['kind'], isSmall = false): string {
  return ['button', kind ?? '', isSmall ? 'small' : ''].filter(Boolean).join(' ');
}

/** Stays in the focus order when it cannot be used, so that a keyboard user does not lose their place. */
export function Button({ children, kind, isSmall, isBusy, isDisabled, type = 'button', label, onClick }: ButtonProps) {
  const isOff = isBusy === true || isDisabled === true;
  return (
    <button
      type={type}
      class={classes(kind, isSmall)}
      aria-disabled={isOff}
      aria-busy={isBusy === true}
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
}: Pick<ButtonProps, 'children' | 'kind' | 'isSmall'> & { href: string }) {
  return (
    <a class={classes(kind, isSmall)} href={href}>
      {children}
    </a>
  );
}
