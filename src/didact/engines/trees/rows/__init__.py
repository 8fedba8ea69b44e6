"""What a grower reads: binned columns, bundles of them, targets and their exact sums."""
