"""Wave schemes, a file each: slots in, slots out."""
