"""What the training runs of all algorithms share: folder, reports, outer loop."""
