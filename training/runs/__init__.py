"""What all training runs share, whatever they learn by: folder, reports, the outer loop."""
