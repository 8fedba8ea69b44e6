"""Dense rows and the clusters that they form: rows with enough weight near them, joined where they are near."""
