"""The model beside published figures: a verdict each, and a null model beside each."""
