// Colours that mean something: one per type of contour, in two shades for light and dark.

import type { ContourType } from "./messages";

export type Theme = "light" | "dark";

const LIGHT: Record<ContourType, string> = {
  CLOSED: "#c2185b",
  EIGHT: "#7b3fc4",
  CROSS: "#3347c4",
  LL: "#0277a8",
  BBII: "#00796b",
  BIBI: "#4f7a1b",
  BLI: "#c05a00",
  OTHER: "#6d6a66",
};

const DARK: Record<ContourType, string> = {
  CLOSED: "#ff6fa5",
  EIGHT: "#c79bff",
  CROSS: "#8fa2ff",
  LL: "#5ccbff",
  BBII: "#4fd6c2",
  BIBI: "#a8d86a",
  BLI: "#ffae57",
  OTHER: "#b5b1ab",
};

export function contourColour(type: ContourType, theme: Theme): string {
  return (theme === "dark" ? DARK : LIGHT)[type];
}

export interface Palette {
  background: string;
  front: string;
  back: string;
  body: string;
  red: string;
  green: string;
  crossing: string;
  star: string;
  wire: string;
  pin: string;
  grip: string;
}

export const PALETTES: Record<Theme, Palette> = {
  light: {
    background: "#f4f2ee",
    front: "#d9d4ca",
    back: "#aebdcb",
    body: "#c9b8a8",
    red: "#d6453d",
    green: "#7fb287",
    crossing: "#eab1a6",
    star: "#e8b64c",
    wire: "#3c4148",
    pin: "#1f5fbf",
    grip: "#f0a400",
  },
  dark: {
    background: "#15181c",
    front: "#9c9a94",
    back: "#5f7284",
    body: "#76685c",
    red: "#e8584d",
    green: "#4f8a5a",
    crossing: "#8f564e",
    star: "#d9a53a",
    wire: "#0d0f12",
    pin: "#6ea8ff",
    grip: "#ffc145",
  },
};
