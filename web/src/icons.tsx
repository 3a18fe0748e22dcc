// Line icons on a 20-unit grid, drawn in the text's colour; they are decoration, the buttons carry the names.
import type { ReactNode } from "react";

function Icon({ children, size = 18 }: { children: ReactNode; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      {children}
    </svg>
  );
}

export const Plus = () => <Icon><path d="M10 4v12M4 10h12" /></Icon>;
export const Broom = () => <Icon><path d="M3.500 5.500h13M8 5.500V3.500h4v2M5 5.500l.8 11h8.400l.8-11M8.500 9v4.500M11.500 9v4.500" /></Icon>;
export const Moon = () => <Icon><path d="M16.500 11.800A7 7 0 0 1 8.200 3.500a7 7 0 1 0 8.300 8.300Z" /></Icon>;
export const Sun = () => <Icon><circle cx="10" cy="10" r="3.400" /><path d="M10 2v1.800M10 16.200V18M2 10h1.800M16.200 10H18M4.300 4.300l1.300 1.300M14.400 14.400l1.300 1.300M4.300 15.700l1.300-1.300M14.400 5.600l1.300-1.300" /></Icon>;
export const ArrowUp = () => <Icon><path d="M10 16V4M4.500 9.500 10 4l5.500 5.500" /></Icon>;
export const ArrowDown = () => <Icon><path d="M10 4v12M4.500 10.500 10 16l5.500-5.500" /></Icon>;
export const Square = () => <Icon><rect x="5.500" y="5.500" width="9" height="9" rx="1.500" fill="currentColor" stroke="none" /></Icon>;
export const Again = () => <Icon size={16}><path d="M16 10a6 6 0 1 1-1.800-4.300L16 7.500M16 3.500v4h-4" /></Icon>;
export const Copy = () => <Icon size={16}><rect x="7" y="7" width="9.500" height="9.500" rx="2" /><path d="M13 7V5.500a2 2 0 0 0-2-2H5.500a2 2 0 0 0-2 2V11a2 2 0 0 0 2 2H7" /></Icon>;
export const Check = () => <Icon size={16}><path d="m4 10.500 4 4 8-9" /></Icon>;
export const Chevron = () => <Icon size={14}><path d="m7 4 6 6-6 6" /></Icon>;
export const Tool = () => <Icon size={16}><path d="M12.500 3.500a4 4 0 0 0-4.300 5.600L3.500 13.800l2.700 2.700 4.700-4.700a4 4 0 0 0 5.600-4.300l-2.300 2.300-2.500-.5-.5-2.500Z" /></Icon>;
export const Data = () => <Icon size={16}><path d="M3.500 4.500h13v11h-13ZM3.500 8.200h13M8 8.200v7.300" /></Icon>;
export const Plug = () => <Icon size={16}><path d="M7 3v4M13 3v4M4.500 7h11v2.500a5.500 5.500 0 0 1-11 0ZM10 15v3" /></Icon>;
export const Page = () => <Icon size={16}><path d="M5 2.500h6.500L15.500 6.500v11H5ZM11.500 2.500v4h4" /></Icon>;
export const Alert = () => <Icon><circle cx="10" cy="10" r="7.200" /><path d="M10 6.500v4.200M10 13.500v.1" /></Icon>;

/** A stem of kelp and the holdfast that keeps it on the rock. */
export const Mark = () => (
  <svg className="mark" width="26" height="26" viewBox="0 0 32 32" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
    <path d="M16 22c-2.500-6 2.500-9 0-18" />
    <path d="M15 15.500c-5 .5-8-2-8.500-6.500 4.500 0 7.800 2 8.500 6.500ZM17 11.500c.5-4.500 3.500-7 8-7 .2 4.500-3 7.300-8 7ZM16.400 18.500c1.600-4 4.800-5.500 9-4.500-1 4.200-4.500 6-9 4.500Z" fill="currentColor" strokeWidth="1" />
    <path d="M16 22c-1 3-4 2.500-8 6.500M16 22c1 3 4 2.500 8 6.500M16 22v6.500" />
  </svg>
);
