"""Pure rules about storage: claims, volume matching, the default class, CSI migration."""
